//! `isogloss top`: a running proxy's overview in the terminal, for people on a pod: what `GET /overview`
//! and `GET /requests` say, asked every other second.

mod view;

use super::operator::{AdminArgs, Operator};
use super::{Failure, print, runtime};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use reqwest::Url;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use view::Seen;

/// How often the proxy is asked.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// As wide and as high as what is printed once.
const PRINTED: (u16, u16) = (110, 40);
/// Where a proxy's admin port is where nobody says otherwise.
const ADMIN: &str = "http://127.0.0.1:9090";

/// Flags of `top`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    operator: AdminArgs,
    /// Print what there is to see once, as text, and end.
    #[arg(long)]
    once: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let default = || Url::parse(ADMIN).map_err(|error| Failure::Usage(format!("--admin: {error}")));
    let base = args.operator.admin.clone().map_or_else(default, Ok)?;
    let operator = Operator::new(&args.operator, &base)?;
    let runtime = runtime(0)?;
    let ask = |before: Option<&Seen>| runtime.block_on(seen(&operator, before));
    // The first time an error is one of the command, and not drawn.
    let first = ask(None)?;
    if args.once || !std::io::stdout().is_terminal() {
        return print(&printed(&first, base.as_str())?);
    }
    let failed = |error| Failure::Runtime(format!("the terminal cannot be drawn on: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = watch(&mut terminal, first, base.as_str(), ask);
    ratatui::restore();
    ended.map_err(failed)
}

async fn seen(operator: &Operator, before: Option<&Seen>) -> Result<Seen, Failure> {
    let overview = operator.get("/overview").await?;
    let requests = operator.get("/requests?limit=100").await?;
    Ok(Seen::new(overview, requests, Instant::now(), before))
}

/// Draws until `q` is pressed.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    first: Seen,
    base: &str,
    ask: impl Fn(Option<&Seen>) -> Result<Seen, Failure>,
) -> std::io::Result<()> {
    let (mut now, mut fault) = (first, None);
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| view::draw(frame, &now, base, fault.as_deref()))?;
        let left = ASK_EVERY.saturating_sub(asked.elapsed());
        if event::poll(left)? {
            if let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
            {
                let is_interrupt =
                    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
                if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                    return Ok(());
                }
            }
            continue;
        }
        asked = Instant::now();
        match ask(Some(&now)) {
            Ok(seen) => (now, fault) = (seen, None),
            Err(failure) => fault = Some(failure.to_string()),
        }
    }
}

/// The same as text.
fn printed(seen: &Seen, base: &str) -> Result<String, Failure> {
    let (width, height) = PRINTED;
    let failed = |_| Failure::Runtime("it cannot be drawn".to_owned());
    let mut terminal = Terminal::new(TestBackend::new(width, height)).map_err(failed)?;
    terminal
        .draw(|frame| view::draw(frame, seen, base, None))
        .map_err(failed)?;
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for line in buffer.content.chunks(width.into()) {
        let line: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        text += line.trim_end();
        text.push('\n');
    }
    Ok(text)
}
