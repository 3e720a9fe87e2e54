//! A headline of at most thirty words, and the evidence lines below it.
use super::words::sentence;

/// Most words of a headline, the name before its colon among them.
pub const MOST_WORDS: usize = 30;

/// The answer of a run, or of two: one or two sentences, and what supports them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Headline {
    /// At most [`MOST_WORDS`] words; empty where there is no answer.
    pub text: String,
    /// One sentence each, the most important first.
    pub evidence: Vec<String>,
}

impl Headline {
    /// Makes a headline of clauses without full stops, the most important first. The first clause leads; each later one
    /// follows where it fits into [`MOST_WORDS`], and is an evidence line otherwise. `name` stands before a colon;
    /// nothing does where it is empty.
    pub fn of(name: &str, clauses: &[String]) -> Self {
        let mut text = if name.is_empty() { String::new() } else { format!("{name}:") };
        let mut evidence = Vec::new();
        let mut is_first = true;
        for clause in clauses.iter().filter(|clause| !clause.is_empty()) {
            let line = sentence(std::slice::from_ref(clause));
            if is_first || words(&text) + words(&line) <= MOST_WORDS {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(&line);
                is_first = false;
            } else {
                evidence.push(line);
            }
        }
        Self { text, evidence }
    }
}

/// Words of a text: what stands between spaces.
pub fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clause(words: usize, last: &str) -> String {
        let mut all = vec!["word"; words - 1];
        all.push(last);
        all.join(" ")
    }

    #[test]
    fn clauses_beyond_thirty_words_are_evidence() {
        let clauses = [clause(20, "a"), clause(12, "b"), clause(9, "c"), String::new(), clause(1, "d")];
        let headline = Headline::of("name", &clauses);
        assert_eq!(words(&headline.text), 30);
        assert!(headline.text.starts_with("name: Word ") && headline.text.ends_with("word c."));
        assert_eq!(headline.evidence.len(), 2);
        assert!(headline.evidence[0].ends_with(" b.") && headline.evidence[1] == "D.");
    }

    #[test]
    fn the_first_clause_leads_whatever_its_length() {
        let headline = Headline::of("", &[clause(31, "a"), clause(2, "b")]);
        assert!(headline.text.ends_with(" a."));
        assert_eq!(headline.evidence, ["Word b."]);
        assert_eq!(Headline::of("", &[]), Headline::default());
    }
}
