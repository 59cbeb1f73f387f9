//! `isogloss completions` and `isogloss man`: the command line's own description in, a shell's
//! completion script or a manual page out. For packagers, and for people who installed with cargo.

use super::{Failure, print};
use clap::Command;
use clap_complete::Shell;

/// Flags of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell that completes.
    shell: Shell,
}

/// Flags of `man`.
#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// The page of this command (`serve`) instead of the program's own.
    command: Option<String>,
}

pub(super) fn completions(mut program: Command, args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "isogloss", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(super) fn man(program: Command, args: &ManArgs) -> Result<(), Failure> {
    let page = page(program, args.command.as_deref())?;
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut roff)
        .map_err(|error| Failure::Runtime(format!("cannot write the manual page: {error}")))?;
    print(&String::from_utf8_lossy(&roff))
}

/// The description of the program, or of one of its commands under its full name.
fn page(mut program: Command, name: Option<&str>) -> Result<Command, Failure> {
    // Names of subcommands' pages and usage lines are only known after this.
    program.build();
    let Some(name) = name else {
        return Ok(program);
    };
    let found = program.find_subcommand(name).cloned();
    let page = found.ok_or_else(|| {
        let names: Vec<&str> = program
            .get_subcommands()
            .map(Command::get_name)
            .filter(|name| *name != "help")
            .collect();
        let names = names.join(", ");
        Failure::Usage(format!("there is no command `{name}`: there are {names}"))
    })?;
    Ok(page.version(env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let page = page(Cli::command(), Some(name)).unwrap();
            let title = format!("isogloss-{name}");
            assert_eq!(page.get_display_name(), Some(title.as_str()));
        }
    }

    #[test]
    fn a_command_that_is_not_there_is_named_with_those_that_are() {
        let Err(Failure::Usage(text)) = page(Cli::command(), Some("swerve")) else {
            unreachable!("no such command");
        };
        assert!(
            text.contains("`swerve`") && text.contains("serve, batch"),
            "{text}"
        );
    }
}
