//! Tools that a server would have to run itself (`web_search`, …), on a server that is not sent them:
//! no model calls them there, whatever it is told, so it is told nothing.

use super::Writer;
use super::body::Body;
use crate::dialect::server::Server;
use crate::error::{Error, Kind};
use crate::ir::{Contract, EnforcedBy, Loss, Request, Tool, ToolChoice, ToolInput, raw};
use crate::rules::Rule;
use serde_json::value::RawValue;

/// Refuses the choice of a tool that only a server of the client's own wire runs, where this is none.
pub(super) fn check(request: &Request, body: &Body<'_>) -> Result<(), Error> {
    match &request.hosted_choice {
        Some(error) if !body.keeps_wire() => Err(error.clone()),
        _ => Ok(()),
    }
}

/// Leaves them out of a request to a server that takes none, where it goes on without them: there are functions beside
/// them, and the choice can be kept. Says what is lost.
pub fn leave_out(
    request: &mut Request,
    contract: &mut Contract,
    rule: &Rule,
    server: &dyn Server,
) -> Vec<Loss> {
    let keeps_wire = request.wire == Some(server.wire());
    if !keeps_wire {
        // Another server knows nothing of them, and makes such a call by mistake.
        request.own_calls = None;
        contract.own_calls = None;
    }
    let is_kept = |tools: &[Tool]| tools.iter().any(|tool| !is_hosted(tool));
    let may_go_on =
        is_kept(&request.tools) && (contract.tools.is_empty() || is_kept(&contract.tools));
    if (keeps_wire && takes_any(rule)) || !may_go_on || !request.tools.iter().any(is_hosted) {
        return Vec::new();
    }
    // On the client's own wire, each stands where it is listed.
    if keeps_wire && let Some(stated) = request.fields.raw("tools") {
        let stated: Vec<Box<RawValue>> = serde_json::from_str(stated).unwrap_or_default();
        let kept = stated.iter().zip(&request.tools);
        let kept: Vec<_> = kept
            .filter(|(_, tool)| !is_hosted(tool))
            .map(|(raw, _)| raw)
            .collect();
        request.fields.set("tools", raw(&kept));
    }
    let (hosted, tools) = std::mem::take(&mut request.tools)
        .into_iter()
        .partition::<Vec<Tool>, _>(is_hosted);
    request.tools = tools;
    if let ToolChoice::Allowed { names, .. } = &mut request.tool_choice {
        names.retain(|name| !hosted.iter().any(|tool| tool.name == *name));
    }
    *contract = Contract::of(request);
    hosted.iter().map(|tool| lost(tool, &rule.title)).collect()
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
