//! The lines around a problem as an error shows them: long lines are cut, so that the place is seen.
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use railtwin_scenario::Problem;
use railtwin_store::{one_line, printable};

/// Most characters of a line that an error shows.
const WIDTH: usize = 100;
/// Characters that are shown before a place in a line that is cut.
const LEAD: usize = 30;
/// Stands for what was cut.
const CUT: &str = "…";

/// The line of a problem between its neighbours, as miette draws it.
#[derive(Debug)]
pub(crate) struct Excerpt {
    /// File, as the caller named it.
    name: String,
    /// The lines, each cut to [`WIDTH`] characters and with its line break.
    text: String,
    /// Number of the first line, from 0.
    first: usize,
    /// Line and column of the problem, from 0; columns count characters of the file, not of what is shown.
    place: (usize, usize),
    /// Bytes of `text` that are marked.
    mark: SourceSpan,
}

impl Excerpt {
    /// The lines around a problem of `text`, which is the file `name`.
    pub(crate) fn new(name: &str, text: &str, problem: &Problem) -> Self {
        let begin = text[..problem.span.start].rfind('\n').map_or(0, |at| at + 1);
        let before = begin.checked_sub(1).map(|end| {
            let start = text[..end].rfind('\n').map_or(0, |at| at + 1);
            shown_line(&text[start..end], 0..0).0
        });
        let (line, after) = text[begin..].split_once('\n').unwrap_or((&text[begin..], ""));
        // A whole table is a place of many lines: its first is enough.
        let end = (problem.span.end - begin).min(line.len());
        let (line, mark) = shown_line(line, (problem.span.start - begin).min(end)..end);
        let after = after.lines().next().map(|after| shown_line(after, 0..0).0);
        let number = problem.line - 1;
        let ahead = before.as_ref().map_or(0, |before| before.len() + 1);
        Self {
            name: one_line(name).into_owned(),
            first: number - usize::from(before.is_some()),
            text: before.into_iter().chain([line]).chain(after).map(|line| line + "\n").collect(),
            place: (number, problem.column - 1),
            mark: SourceSpan::from((ahead + mark.start, mark.len())),
        }
    }

    /// Bytes of the excerpt that are marked.
    pub(crate) fn mark(&self) -> SourceSpan {
        self.mark
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let name = self.name.clone();
        // Without lines around it is asked for the place alone, which the head names.
        let (span, (line, column)) = match (lines_before, lines_after) {
            (0, 0) => (self.mark, self.place),
            _ => (SourceSpan::from((0, self.text.len())), (self.first, 0)),
        };
        let data = &self.text.as_bytes()[span.offset()..span.offset() + span.len()];
        Ok(Box::new(MietteSpanContents::new_named(name, data, span, line, column, 1)))
    }
}

/// A line as it is shown, and where its bytes `mark` stand in that.
fn shown_line(line: &str, mark: std::ops::Range<usize>) -> (String, std::ops::Range<usize>) {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let (start, end) = (mark.start.min(line.len()), mark.end.min(line.len()));
    let count = line.chars().count();
    let from = match count > WIDTH {
        true => line[..start].chars().count().saturating_sub(LEAD).min(count - WIDTH),
        false => 0,
    };
    let byte = |character: usize| line.char_indices().nth(character).map_or(line.len(), |(at, _)| at);
    let (first, last) = (byte(from), byte(from + WIDTH));
    let ahead = if first > 0 { CUT } else { "" };
    // What is drawn is the printable text, whose places are others: the mark must fit what is seen.
    let place = |at: usize| ahead.len() + printable(&line[first..at.clamp(first, last)]).len();
    let tail = if last < line.len() { CUT } else { "" };
    let shown = format!("{ahead}{}{tail}", printable(&line[first..last]));
    (shown, place(start)..place(end))
}

#[cfg(test)]
mod tests {
    use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan};
    use proptest::prelude::*;

    use super::*;

    /// Returns the drawing of an error at the bytes `span` of a text.
    fn drawn(text: &str, span: std::ops::Range<usize>) -> String {
        let excerpt = Excerpt::new("a.toml", text, &Problem::new(text, span, "wrong", None));
        let label = LabeledSpan::new_with_span(None, excerpt.mark());
        let error = miette::MietteDiagnostic::new("wrong").with_labels([label]);
        let mut out = String::new();
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
            .render_report(&mut out, miette::Report::new(error).with_source_code(excerpt).as_ref())
            .unwrap();
        out
    }

    #[test]
    fn short_lines_are_shown_whole_between_their_neighbours() {
        let out = drawn("a = 1\r\nbé = 世x\r\nc = 3\r\nd = 4\n", 13..17);
        assert_eq!(
            out,
            "  × wrong\n   ╭─[a.toml:2:6]\n 1 │ a = 1\n 2 │ bé = 世x\n   ·      ───\n 3 │ c = 3\n   ╰────\n"
        );
        assert!(drawn("", 0..0).contains("a.toml:1:1"));
        assert!(drawn("a = 1\n", 6..6).contains("a.toml:2:1"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text =
            format!("# {}\nsteps = {}\"a\"{}\n", "x".repeat(300), "é".repeat(70_000), "y".repeat(70_000));
        let at = text.find('"').unwrap();
        let out = drawn(&text, at..at + 3);
        assert!(out.contains("a.toml:2:70009"), "{out}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[2], format!(" 1 │ # {}…", "x".repeat(98)));
        assert_eq!(lines[3], format!(" 2 │ …{}\"a\"{}…", "é".repeat(30), "y".repeat(67)));
        assert_eq!(lines[4], format!("   · {}───", " ".repeat(31)));
    }

    proptest! {
        /// Any place of any text is drawn: with its own line and column, in lines of bounded length, and the mark under
        /// the character that stands there.
        #[test]
        fn every_place_is_drawn(
            pieces in prop::collection::vec(("[ -~]{0,9}|[é世\u{7}\t]{1,3}|\r?\n", 1_usize..2_000), 0..9),
            place in any::<prop::sample::Index>(),
            length in 0_usize..200,
        ) {
            let text: String = pieces.iter().map(|(piece, count)| piece.repeat(*count)).collect();
            let at = place.index(text.len() + 1);
            let problem = Problem::new(&text, at..at + length, "wrong", None);
            let out = drawn(&text, at..at + length);
            let head = format!("[a.toml:{}:{}]", problem.line, problem.column);
            prop_assert!(out.contains(&head), "{}\n{}", head, out);
            // A bell is shown as six characters, a tab as up to four.
            prop_assert!(out.lines().all(|line| line.chars().count() < 6 * WIDTH + 20));
            let excerpt = Excerpt::new("a.toml", &text, &problem);
            let marked = &excerpt.text[excerpt.mark.offset()..];
            let here = text[problem.span.start..].trim_start_matches('\r').chars().next();
            if let Some(here) = here {
                prop_assert!(marked.starts_with(printable(&here.to_string()).as_ref()), "{}", out);
            }
        }
    }
}
