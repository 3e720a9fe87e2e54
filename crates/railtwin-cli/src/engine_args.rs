//! Which engine is asked, as the arguments of a verb.
use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use railtwin::Question;
use railtwin::engines::cores;
use railtwin_scenario::EngineName;

/// Which engine is asked.
#[derive(Args, Debug)]
pub(crate) struct EngineArgs {
    /// Engine that is asked, whatever the scenario says
    #[arg(long, value_name = "ENGINE", value_parser = names())]
    engine: Option<EngineName>,
    /// Threads of one run of the packet engine; the result does not depend on them
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = counts())]
    pub(crate) threads: u32,
}

impl EngineArgs {
    /// The words that say the same to another process.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec!["--threads".to_owned(), self.threads.to_string()];
        if let Some(engine) = self.engine {
            words.extend(["--engine".to_owned(), engine.name().to_owned()]);
        }
        if let Some(memory) = railtwin::memory::said() {
            words.extend(["--memory".to_owned(), format!("{memory} B")]);
        }
        words
    }

    /// The question to that engine; a note where more threads are asked for than there are cores.
    pub(crate) fn ask(&self, question: Question, notes: &mut dyn Write) -> Question {
        let cores = cores();
        if self.threads > cores {
            // Whoever closed the notes does not want them.
            let _ = writeln!(
                notes,
                "note: --threads {}: a run takes {cores}, one for each core here",
                self.threads
            );
        }
        question.with_engine(self.engine).with_threads(self.threads)
    }
}

fn names() -> impl TypedValueParser<Value = EngineName> {
    let known = |name: String| EngineName::named(&name).ok_or("not an engine");
    PossibleValuesParser::new(EngineName::NAMES).try_map(known)
}

/// Threads that a run may have.
pub(crate) fn counts() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1024)
}
