//! The page is one file that names every candidate.
use railtwin_catalog::Catalog;
use railtwin_planning::intent::Intent;
use railtwin_planning::page::render;
use railtwin_planning::search::search;

#[test]
fn the_page_stands_alone_and_names_every_candidate() {
    let (catalog, intent) = (Catalog::builtin(), Intent::default());
    let (plan, found) = (intent.plan(&catalog), search(&intent, &catalog));
    let html = render(&plan, Some(&found));
    for candidate in &plan.candidates {
        assert!(html.contains(&candidate.combination.short_label()));
    }
    for outside in ["<script", "http://", "https://", "src="] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<table").count(), html.matches("</table>").count());
    assert!(html.len() < 100_000 && html.contains("survives the loss of any leaf"));
}

#[test]
fn names_from_outside_are_escaped_and_an_empty_plan_says_why() {
    let intent = Intent { switches: vec!["<b>9x9</b>".to_owned()], ..Intent::default() };
    let html = render(&intent.plan(&Catalog::builtin()), None);
    assert!(html.contains("No fabric carries them") && !html.contains("<b>9x9"));
}
