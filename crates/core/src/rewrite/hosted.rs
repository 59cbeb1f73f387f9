//! Tools that a server would have to run itself (`web_search`, …), on a server that is not sent them:
//! no model calls them there, whatever it is told, so it is told nothing.

use super::Writer;
use super::body::Body;
use crate::error::{Error, Kind};
use crate::ir::{EnforcedBy, Loss, Request, Tool, ToolInput};

/// Refuses the choice of a tool that only a server of the client's own wire runs, where this is none.
pub(super) fn check(request: &Request, body: &Body<'_>) -> Result<(), Error> {
    match &request.hosted_choice {
        Some(error) if !body.keeps_wire() => Err(error.clone()),
        _ => Ok(()),
    }
}

impl<'a> Writer<'a> {
    /// No call of such a tool can be made of content.
    pub(super) fn refuse_hosted(&self) -> Result<(), Error> {
        match self.contract.tools.iter().find(|tool| is_hosted(tool)) {
            Some(hosted) => {
                let message = format!(
                    "`{}` is a tool that the server would have to host: {} cannot be made to call it; leave it out, or demand a function by its name",
                    hosted.name, self.rule.title
                );
                Err(Error::new(Kind::UnsupportedConstraint, message).at("tools"))
            }
            None => Ok(()),
        }
    }

    /// Whether there are tools, and none that content can be a call of.
    pub(super) fn has_only_hosted(&self) -> bool {
        let tools = &self.contract.tools;
        !tools.is_empty() && tools.iter().all(is_hosted)
    }

    /// Tells of those that the server is not sent, and names them.
    pub(super) fn lose_hosted(&mut self) -> Vec<&'a str> {
        let contract = self.contract;
        let mut hosted = contract
            .tools
            .iter()
            .filter(|tool| is_hosted(tool))
            .peekable();
        if hosted.peek().is_none() {
            return Vec::new();
        }
        let sent = &self.body.tools;
        let is_sent = |tool: &Tool| match &tool.input {
            ToolInput::Hosted(_) => sent.iter().any(|sent| sent.input == tool.input),
            _ => true,
        };
        let lost: Vec<&Tool> = hosted.filter(|tool| !is_sent(tool)).collect();
        for tool in &lost {
            self.lose_tool(tool);
        }
        lost.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Notes that nobody can call it.
    fn lose_tool(&mut self, tool: &Tool) {
        let pointer = tool.origin.pointer();
        if self.losses.iter().any(|known| known.pointer == pointer) {
            return;
        }
        self.losses.push(Loss {
            pointer,
            reason: format!(
                "{} would have to host the tool: it cannot be called",
                self.rule.title
            ),
            enforced_by: EnforcedBy::Nobody,
        });
    }
}

const fn is_hosted(tool: &Tool) -> bool {
    matches!(tool.input, ToolInput::Hosted(_))
}
