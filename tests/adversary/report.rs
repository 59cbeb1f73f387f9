//! What was seen: a table by dialect, an example of each kind of breach, and a file for the judges
//! that come after.

use isogloss_testing::adversary::case::{DIALECTS, KINDS};
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::demands::Demand;
use isogloss_testing::adversary::fold::Fault;
use isogloss_testing::adversary::judge::{Claim, schemas_of};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Of what passes although nobody may mind it, so many in a thousand may be refused.
const REFUSED_OF_A_THOUSAND: usize = 1;
/// So many right replies say something of every kind of demand.
const ENOUGH: usize = 500;
const EXAMPLES: usize = 3;
const SHOWN: usize = 20;

/// A case to be shown.
#[derive(Debug, Clone)]
pub struct Breach {
    pub seed: u64,
    pub dialect: &'static str,
    pub demand: String,
    pub request: String,
    pub sent: String,
    pub got: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            dialect,
            demand,
            request,
            sent,
            got,
        } = self;
        writeln!(f, "ADVERSARY_ONLY={seed}  {dialect}  {demand}")?;
        writeln!(
            f,
            "--- asked\n{request}\n--- the server said\n{sent}\n--- the client got\n{got}"
        )
    }
}

/// What came of a case.
#[derive(Debug)]
pub struct Seen {
    pub dialect: usize,
    pub client: Dialect,
    pub kind: &'static str,
    pub is_refused: bool,
    /// Of what must pass, whether it did.
    pub is_right: Option<bool>,
    /// It passed, and is said to be wrong.
    pub is_told: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    right_passed: usize,
    right_refused: usize,
    wrong_refused: usize,
    wrong_passed: usize,
    lies_harmless: usize,
    wrong_told: usize,
}

impl Row {
    const COLUMNS: [&str; 6] = [
        "right passed",
        "right refused",
        "lies refused",
        "lies harmless",
        "wrong, told",
        "wrong passed",
    ];

    const fn count(&mut self, seen: &Seen, is_breach: bool) {
        let count = match (seen.is_right, seen.is_refused, is_breach) {
            (_, _, true) => &mut self.wrong_passed,
            (Some(true), ..) => &mut self.right_passed,
            (Some(false), ..) => &mut self.right_refused,
            (None, true, _) => &mut self.wrong_refused,
            (None, false, _) if seen.is_told => &mut self.wrong_told,
            (None, false, _) => &mut self.lies_harmless,
        };
        *count += 1;
    }

    const fn columns(&self) -> [usize; 6] {
        [
            self.right_passed,
            self.right_refused,
            self.wrong_refused,
            self.lies_harmless,
            self.wrong_told,
            self.wrong_passed,
        ]
    }
}

/// All that was seen.
pub struct Report {
    rows: Vec<Row>,
    by_kind: BTreeMap<&'static str, Row>,
    by_client: BTreeMap<&'static str, Row>,
    kinds: BTreeMap<String, (usize, Vec<Breach>)>,
    lost: Vec<Breach>,
    claims: HashSet<Claim>,
    file: BufWriter<File>,
}

impl Report {
    pub fn new(demands: &[Demand]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adversary");
        std::fs::create_dir_all(&folder).unwrap();
        let schemas: serde_json::Map<_, _> = demands.iter().flat_map(schemas_of).collect();
        std::fs::write(folder.join("schemas.json"), json!(schemas).to_string()).unwrap();
        let file = File::create(folder.join("claims.jsonl")).unwrap();
        Self {
            rows: vec![Row::default(); DIALECTS.len()],
            by_kind: KINDS.map(|kind| (kind, Row::default())).into(),
            by_client: Dialect::ALL
                .map(|client| (client.name(), Row::default()))
                .into(),
            kinds: BTreeMap::new(),
            lost: Vec::new(),
            claims: HashSet::new(),
            file: BufWriter::new(file),
        }
    }

    pub fn count(&mut self, seen: &Seen, faults: &[Fault], breach: impl Fn() -> Breach) {
        let is_breach = faults.iter().any(|fault| !fault.kind.starts_with("note"));
        self.rows[seen.dialect].count(seen, is_breach);
        let row = self.by_kind.entry(seen.kind).or_default();
        row.count(seen, is_breach);
        let row = self.by_client.entry(seen.client.name()).or_default();
        row.count(seen, is_breach);
        if seen.is_right == Some(false) && !is_breach {
            self.lost.push(breach());
        }
        for fault in faults {
            let name = format!("{}: {}", fault.kind, fault.what);
            let (count, examples) = self.kinds.entry(name).or_default();
            *count += 1;
            // The shortest tell most.
            examples.push(breach());
            examples.sort_by_key(|breach| breach.request.len() / 4 + breach.sent.len());
            examples.truncate(EXAMPLES);
        }
    }

    /// Notes what others are to judge, each text once.
    pub fn claim(&mut self, seed: u64, dialect: &str, demand: &str, claims: Vec<Claim>) {
        for claim in claims {
            if self.claims.insert(claim.clone()) {
                let line = json!({"seed": seed, "dialect": dialect, "demand": demand,
                    "schema": claim.schema, "text": claim.text});
                writeln!(self.file, "{line}").unwrap();
            }
        }
    }

    /// Prints, and fails where something wrong passed or too much that is right did not.
    pub fn settle(mut self) {
        self.file.flush().unwrap();
        for (name, (count, examples)) in &self.kinds {
            println!("\n=== {name}: {count} times");
            for breach in examples {
                println!("{breach}");
            }
        }
        for breach in self.lost.iter().take(SHOWN) {
            println!("\n=== right, and lost\n{breach}");
        }
        let head = Row::COLUMNS.map(|name| format!("{name:>13}")).join(" ");
        println!("{:20} {head}", "");
        let dialects = DIALECTS.iter().zip(&self.rows);
        for (name, row) in dialects.chain(&self.by_kind).chain(&self.by_client) {
            let counts = row.columns().map(|count| format!("{count:13}")).join(" ");
            println!("{name:20} {counts}");
        }
        for (name, (count, _)) in &self.kinds {
            println!("{count:7}  {name}");
        }
        let sum = |of: fn(&Row) -> usize| self.rows.iter().map(of).sum::<usize>();
        let (passed, refused) = (sum(|row| row.right_passed), sum(|row| row.right_refused));
        let wrong = sum(|row| row.wrong_passed);
        println!("{} texts to be judged by others", self.claims.len());
        assert_eq!(
            wrong, 0,
            "replies that are not what was asked for left as a success"
        );
        let is_much = |passed: usize, refused: usize| {
            refused * 1000 > (passed + refused) * REFUSED_OF_A_THOUSAND
        };
        assert!(
            !is_much(passed, refused),
            "{refused} of {} right replies did not pass",
            passed + refused
        );
        if passed < ENOUGH {
            return;
        }
        for (kind, row) in self.by_kind.iter().chain(&self.by_client) {
            let (passed, refused) = (row.right_passed, row.right_refused);
            let is_lost = passed == 0 || is_much(passed, refused);
            assert!(
                !is_lost,
                "{kind}: {passed} right replies passed, {refused} did not"
            );
        }
        assert!(sum(|row| row.wrong_told) > 0, "nothing wrong was let pass");
    }
}
