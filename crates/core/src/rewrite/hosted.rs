//! Tools that a request names by their type, on a server that is not sent them. What a server would have to run itself
//! (`web_search`, …) no model calls there, whatever it is told, so it is told nothing; what the client runs is told as a
//! function.

use super::Writer;
use super::body::Body;
use crate::dialect::server::Server;
use crate::error::{Error, Kind};
use crate::ir::{Contract, EnforcedBy, Hosted, Loss, Request, Tool, ToolChoice, ToolInput};
use crate::rules::Rule;

/// Refuses the choice of a tool that only a server of the client's own wire runs, where this is none.
pub(super) fn check(request: &Request, body: &Body<'_>) -> Result<(), Error> {
    match &request.hosted_choice {
        Some(error) if !body.keeps_wire() => Err(error.clone()),
        _ => Ok(()),
    }
}

/// Tells a server that takes none of those that the client carries out as functions, and leaves the others out where it
/// goes on without them: there are functions beside them, and the choice can be kept. Says what is lost; `None` where
/// nothing was changed.
pub fn leave_out(
    request: &mut Request,
    contract: &mut Contract,
    rule: &Rule,
    server: &dyn Server,
) -> Option<Vec<Loss>> {
    let keeps_wire = request.wire == Some(server.wire());
    if !keeps_wire {
        // Another server knows nothing of them, and makes such a call by mistake.
        request.own_calls = None;
        contract.own_calls = None;
    }
    if (keeps_wire && takes_any(rule)) || !request.tools.iter().any(is_hosted) {
        return None;
    }
    let mut kept: Vec<Tool> = request.tools.iter().cloned().map(published).collect();
    let may_be_called = |tool: &Tool| {
        let mut callable = contract.tools.iter().map(|tool| &tool.name);
        contract.tools.is_empty() || callable.any(|name| *name == tool.name)
    };
    let mut hosted = Vec::new();
    // Where nothing else may be called, what is demanded of them is refused, or told, by itself.
    if (kept.iter()).any(|tool| !is_hosted(tool) && may_be_called(tool)) {
        (hosted, kept) = kept.into_iter().partition(is_hosted);
    }
    if kept == request.tools {
        return None;
    }
    if let Some(editor) = server.editor().filter(|_| keeps_wire) {
        let mut fields = std::mem::take(&mut request.fields);
        editor.tools(&mut fields, request, &kept);
        request.fields = fields;
    }
    request.tools = kept;
    if let ToolChoice::Allowed { names, .. } = &mut request.tool_choice {
        names.retain(|name| !hosted.iter().any(|tool| tool.name == *name));
    }
    *contract = Contract::of(request);
    Some(hosted.iter().map(|tool| lost(tool, &rule.title)).collect())
}

/// A tool that the client carries out, as any other function.
fn published(mut tool: Tool) -> Tool {
    if let ToolInput::Hosted(Hosted { published, .. }) = &mut tool.input
        && let Some(published) = published.take()
    {
        let (schema, strict) = (published.schema, false);
        tool.description = Some(published.description);
        tool.input = ToolInput::Schema { schema, strict };
    }
    tool
}

/// Nobody can call it.
fn lost(tool: &Tool, title: &str) -> Loss {
    Loss {
        pointer: tool.origin.pointer(),
        reason: format!("{title} would have to host the tool: it cannot be called"),
        enforced_by: EnforcedBy::Nobody,
    }
}

/// Whether the server runs tools of its own, which clients of its wire name.
pub(super) const fn takes_any(rule: &Rule) -> bool {
    rule.hosted_tools || rule.custom_tools
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
        self.losses.push(lost(tool, &self.rule.title));
    }
}

const fn is_hosted(tool: &Tool) -> bool {
    matches!(tool.input, ToolInput::Hosted(_))
}
