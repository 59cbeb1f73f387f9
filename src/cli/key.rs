//! `isogloss key new`: a key for a client, and the lines that let it in.

use super::{Failure, print};
use crate::config::{KeyHash, client_name};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

/// What a key begins with: scanners for leaked keys, and people, know it by that.
const PREFIX: &str = "isg_";
/// As random as the hash is long.
const RANDOM_BYTES: usize = 32;

/// Keys of clients.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a key, and print it with the block for isogloss.toml that lets it in.
    New {
        /// The client's name, in logs and metrics.
        #[arg(default_value = "client", value_parser = client_name)]
        name: String,
    },
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Command::New { name } = &args.command;
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::Runtime(format!("there is no randomness: {error}")))?;
    let key = format!("{PREFIX}{}", BASE64.encode(random));
    let hash = KeyHash::of(key.as_bytes());
    let name = toml::Value::String(name.clone());
    print(&format!(
        "# The client sends this key; it is shown once and kept nowhere:\n\
         # {key}\n\
         [[client]]\n\
         name = {name}\n\
         key_sha256 = \"{hash}\"\n"
    ))
}
