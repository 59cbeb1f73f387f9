#![expect(clippy::unwrap_used, reason = "tests")]
use super::super::ledger::Turn;
use super::*;

const OK: &str = "{\"id\":\"batch_req_0000000001\",\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{}},\"error\":null}\n";
const FAILED: &str = "{\"id\":\"batch_req_0000000002\",\"custom_id\":\"b\",\"response\":{\"status_code\":502,\"body\":{}},\"error\":null}\n";
const BAD: &str = "{\"id\":\"batch_req_0000000003\",\"custom_id\":null,\"response\":null,\"error\":{\"code\":\"invalid_json\",\"line\":3}}\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(output: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("out"), output).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn open(&self, retry_failed: bool) -> Result<(Output, Ledger), Failure> {
        let mut ledger = Ledger::default();
        let places = Places {
            input: None,
            output: &self.path(),
            errors: None,
            retry_failed,
        };
        Output::open(&places, &mut ledger).map(|output| (output, ledger))
    }
}

#[test]
fn what_stands_is_taken_up_and_a_torn_row_is_cut_off() {
    let whole = format!("{OK}{FAILED}{BAD}");
    for torn in [
        "",
        "{",
        "{\"id\":\"batch_req_0000000004\",\"custom_id\":\"d",
    ] {
        let folder = Folder::new(&format!("{whole}{torn}"));
        let (output, mut ledger) = folder.open(false).unwrap();
        assert_eq!(output.stood, Stood { ok: 1, failed: 2 });
        assert_eq!(folder.text(), whole, "{torn}");
        assert_eq!(ledger.turn("a", 1), Turn::Stands);
        assert_eq!(ledger.turn("b", 2), Turn::Stands);
        assert!(ledger.has_line(3));
        assert_eq!(ledger.turn("d", 4), Turn::Ask);
    }
}

#[test]
fn what_failed_is_taken_out_to_be_asked_again() {
    let folder = Folder::new(&format!("{FAILED}{OK}{BAD}{{\"id\":"));
    let (mut output, mut ledger) = folder.open(true).unwrap();
    assert_eq!(output.stood, Stood { ok: 1, failed: 0 });
    assert_eq!(folder.text(), OK);
    assert_eq!(ledger.turn("b", 2), Turn::Ask);
    assert!(!ledger.has_line(3));
    let row = Row {
        text: FAILED.into(),
        outcome: Outcome::Upstream,
        tokens: (0, 0),
    };
    output.write(&row).unwrap();
    assert_eq!(folder.text(), format!("{OK}{FAILED}"));
    let files = fs::read_dir(folder.0.path()).unwrap().count();
    assert_eq!(files, 1);
}

#[test]
fn a_file_of_something_else_is_left_as_it_is() {
    for text in [
        "id,name\n1,x\n",
        "precious",
        &format!("{OK}\nprecious\n{OK}"),
    ] {
        for retry_failed in [false, true] {
            let folder = Folder::new(text);
            let failure = folder.open(retry_failed).err().unwrap();
            assert!(failure.to_string().contains("name another file"));
            assert_eq!(folder.text(), text);
        }
    }
}

#[test]
fn two_runs_do_not_write_to_one_file_also_when_the_first_took_rows_out() {
    let folder = Folder::new(&format!("{OK}{FAILED}"));
    for retry_failed in [false, true] {
        let first = folder.open(retry_failed).unwrap();
        let failure = folder.open(false).err().unwrap();
        assert!(failure.to_string().contains("another run"), "{failure}");
        drop(first);
    }
    folder.open(false).unwrap();
}
