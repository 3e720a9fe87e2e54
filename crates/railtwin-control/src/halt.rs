//! The way in which a controller ends the run that asks it, when it cannot go on.
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Reason for which a controller ends a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halt {
    /// The controller.
    pub controller: String,
    /// Why it cannot go on.
    pub why: String,
}

/// Ends the run of which the calling controller is a part: [`guarded`] gets to know why.
pub fn halt(controller: &str, why: impl Into<String>) -> ! {
    // No panic: no hook is called, and whoever runs controllers waits for it.
    resume_unwind(Box::new(Halt { controller: controller.to_owned(), why: why.into() }))
}

/// Returns the result of `work`, which may ask controllers.
///
/// # Errors
/// The [`Halt`] of the controller that ended the work.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Halt> {
    // What was going on is lost with its controllers: nothing of it is seen again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<Halt>() {
        Ok(halt) => *halt,
        Err(other) => resume_unwind(other),
    })
}
