//! Questions that the kernels of the runs answer: the sentences of `show --questions`.

use super::html::{Html, tag};
use super::{Content, Section};
use crate::questions::{across, replies};

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let replies = replies(content.runs);
    let of_each =
        replies.iter().map(|of| (of.question.text, of.platform.to_string(), of.sentences()));
    let orders = across(&replies);
    let of_all =
        orders.iter().map(|of| (of.question.text, "several machines".to_owned(), of.sentences()));
    let body: Html = of_each.chain(of_all).map(part).collect();
    vec![Section { id: "questions", title: "Questions", body, ..Section::default() }]
}

fn part((question, platform, sentences): (&str, String, Vec<String>)) -> Html {
    let sentences: Html = sentences.into_iter().map(|line| tag("li", line)).collect();
    tag("h3", format!("{question} (over {platform})")).with(tag("ul", sentences))
}
