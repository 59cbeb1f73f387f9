//! What was seen: a table by dialect, an example of each kind of breach, and a file for the judges
//! that come after.

use isogloss_testing::adversary::case::DIALECTS;
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

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    right_passed: usize,
    right_refused: usize,
    wrong_refused: usize,
    wrong_passed: usize,
    lies_harmless: usize,
}

/// All that was seen.
pub struct Report {
    rows: Vec<Row>,
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
            kinds: BTreeMap::new(),
            lost: Vec::new(),
            claims: HashSet::new(),
            file: BufWriter::new(file),
        }
    }

    /// `is_right` says of what must pass whether it did.
    pub fn count(
        &mut self,
        dialect: usize,
        is_refused: bool,
        is_right: Option<bool>,
        faults: &[Fault],
        breach: impl Fn() -> Breach,
    ) {
        let row = &mut self.rows[dialect];
        let is_breach = faults.iter().any(|fault| !fault.kind.starts_with("note"));
        match (is_right, is_refused, is_breach) {
            (_, _, true) => row.wrong_passed += 1,
            (Some(true), ..) => row.right_passed += 1,
            (Some(false), ..) => {
                row.right_refused += 1;
                self.lost.push(breach());
            }
            (None, true, _) => row.wrong_refused += 1,
            (None, false, _) => row.lies_harmless += 1,
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
        println!(
            "{:20} {:>13} {:>13} {:>13} {:>13} {:>13}",
            "dialect",
            "right passed",
            "right refused",
            "lies refused",
            "lies harmless",
            "wrong passed"
        );
        for (dialect, row) in DIALECTS.iter().zip(&self.rows) {
            println!(
                "{dialect:20} {:13} {:13} {:13} {:13} {:13}",
                row.right_passed,
                row.right_refused,
                row.wrong_refused,
                row.lies_harmless,
                row.wrong_passed
            );
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
        let lost = refused * 1000 <= (passed + refused) * REFUSED_OF_A_THOUSAND;
        assert!(
            lost,
            "{refused} of {} right replies did not pass",
            passed + refused
        );
    }
}
