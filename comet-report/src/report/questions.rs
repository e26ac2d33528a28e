//! Questions that the kernels of the runs answer: the sentences of `show --questions`.

use super::html::{Html, tag};
use super::{Content, Section};
use crate::questions::{Reply, replies};

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let body: Html = replies(content.runs).iter().map(part).collect();
    vec![Section { id: "questions", title: "Questions", body, ..Section::default() }]
}

fn part(reply: &Reply) -> Html {
    let sentences: Html = reply.sentences().into_iter().map(|line| tag("li", line)).collect();
    tag("h3", reply.question.text).with(tag("ul", sentences))
}
