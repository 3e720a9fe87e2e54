//! From an intent to the fabrics that meet it, what they cost, and what each lost part takes.
//!
//! * [`intent`]: an intent, the smallest fabric of each combination, its counts from formulas.
//! * [`loss`]: what a lost switch, cable, port or plane takes; the goals of HPN as rules.
//! * [`search`]: the cheapest fabric that survives a lost leaf, trade-offs as curves, comparison, growth.
//! * [`page`]: one HTML file that answers the question.
//! * [`facts`]: facts of a design: ports, scale, buildings, power, cost of one pod, ingress.
pub mod facts;
pub mod intent;
pub mod loss;
pub mod page;
pub mod search;
pub mod text;
