//! From an intent to the fabrics that meet it, what they cost, and what each lost part takes.
//!
//! * [`intent`]: an intent, the smallest fabric of each combination, its counts from formulas.
//! * [`loss`]: what a lost switch, cable, port or plane takes; the goals of HPN as rules.
//! * [`search`]: the cheapest fabric that survives a lost leaf, trade-offs as curves, comparison, growth.
//! * [`facts`]: what the papers ask of a design, each a computation.
//! * [`report`]: all of it on one fabric, section by section.
//! * [`page`]: one HTML file that answers the question.
pub mod facts;
pub mod intent;
pub mod loss;
mod numbers;
pub mod page;
pub mod report;
pub mod search;
pub mod text;
