//! What each server makes of each schema, held against what it made of it before: a line a schema,
//! with its group, a hash of its name and text, and for each server, in the order of the first line,
//! `u` (sent as it is), `e` (exactly, in another form), `p` (the proxy enforces a part) or `r` (refused).

use super::Sample;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// Several groups write the same file.
static WRITING: Mutex<()> = Mutex::new(());

#[derive(Default)]
pub(crate) struct Baseline {
    servers: Vec<String>,
    /// By group and hash: the name of the schema here, and a letter for each server.
    lines: BTreeMap<(String, String), (String, Vec<char>)>,
}

fn path() -> PathBuf {
    isogloss_testing::root().join("tests/data/lowering-ratchet.txt")
}

/// FNV-1a: the same on every machine, which the standard library's hash is not.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

impl Baseline {
    pub(crate) fn note(&mut self, group: &str, server: &str, sample: &Sample, letter: char) {
        if self.servers.last().is_none_or(|last| last != server) {
            self.servers.push(server.to_owned());
        }
        let key = hash(&format!("{} {} {}", sample.set, sample.name, sample.schema));
        let line = self.lines.entry((group.to_owned(), key)).or_default();
        line.0.clone_from(&sample.name);
        // Where a data set has a schema twice, it is the same.
        line.1.truncate(self.servers.len() - 1);
        line.1.push(letter);
    }

    fn known() -> Self {
        let text = std::fs::read_to_string(path()).unwrap_or_default();
        let mut lines = text.lines();
        let servers = lines.next().unwrap_or_default();
        let servers = servers.split_whitespace().map(str::to_owned).collect();
        let lines = lines.map(|line| {
            let mut parts = line.split(' ').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            let (group, key, letters) = (next(), next(), next());
            ((group, key), (String::new(), letters.chars().collect()))
        });
        Self {
            lines: lines.collect(),
            servers,
        }
    }

    /// Fails where any schema fares worse on any server than before, or is not known.
    pub(crate) fn hold(self, group: &str) {
        if std::env::var_os("UPDATE_RATCHET").is_some() {
            return self.write(group);
        }
        let known = Self::known();
        let mut worse = Vec::new();
        for (key, (name, letters)) in &self.lines {
            let Some((_, before)) = known.lines.get(key) else {
                worse.push(format!("{name} is not known"));
                continue;
            };
            for (server, letter) in self.servers.iter().zip(letters) {
                let place = known.servers.iter().position(|known| known == server);
                let before = place.and_then(|place| before.get(place));
                let rank = |letter: &char| match letter {
                    'u' | 'e' => 2,
                    'p' => 1,
                    _ => 0,
                };
                if before.is_none_or(|before| rank(letter) < rank(before)) {
                    worse.push(format!("{name} on {server}: {letter}, before {before:?}"));
                }
            }
        }
        assert!(
            worse.is_empty(),
            "{} fare worse, or are new (UPDATE_RATCHET=1 writes them down):\n{}",
            worse.len(),
            worse[..worse.len().min(40)].join("\n")
        );
    }

    fn write(self, group: &str) {
        let _guard = WRITING.lock().unwrap();
        let mut known = Self::known();
        known.lines.retain(|(its, _), _| its != group);
        known.servers = self.servers;
        known.lines.extend(self.lines);
        let lines = known.lines.iter().map(|((group, key), (_, letters))| {
            let letters: String = letters.iter().collect();
            format!("{group} {key} {letters}\n")
        });
        let text: String = lines.collect();
        std::fs::write(path(), format!("{}\n{text}", known.servers.join(" "))).unwrap();
    }
}
