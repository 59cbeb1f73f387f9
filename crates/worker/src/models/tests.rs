use super::*;
use crate::toy;
use std::time::Duration;

/// Models of these names, and what is told of them.
fn models(names: &[&str]) -> (Models, Arc<Mutex<Vec<Told>>>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(folder.path().join(format!("{name}.gguf")), "x").unwrap();
    }
    let options = Options {
        slots: 2,
        queue: 3,
        ..Options::new(ModelSource::Path(folder.path().to_owned()))
    };
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let told = Arc::clone(&told);
        Box::new(move |event| told.lock().unwrap().push(event))
    };
    let models = Models::open(&options, toy::LOADER, tell, Arc::default()).unwrap();
    (models, told, folder)
}

/// Whether this is still not over after a moment.
async fn waits<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> bool {
    tokio::time::timeout(Duration::from_millis(50), future)
        .await
        .is_err()
}

#[tokio::test]
async fn the_only_model_is_loaded_at_the_start_and_not_asked_for_before() {
    let (models, told, _folder) = models(&["a"]);
    assert_eq!(models.health(), Health::Loading { progress: 0.0 });
    let early = models.lease("a").await.unwrap_err();
    assert_eq!(
        (early.kind, early.retry_after),
        (Kind::ModelLoading, Some(1))
    );
    let lease = models.start().await.unwrap().unwrap();
    assert_eq!(lease.name, "a");
    assert_eq!(models.health(), Health::Ready);
    for name in ["a", ""] {
        assert_eq!(models.lease(name).await.unwrap().name, "a");
    }
    let progress: Vec<f32> = told
        .lock()
        .unwrap()
        .iter()
        .map(|told| match told {
            Told::Loading { progress, .. } => *progress,
            Told::Failed { .. } => unreachable!(),
        })
        .collect();
    assert_eq!(progress, [0.0, 0.5, 1.0]);
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told_with_those_that_are() {
    let (models, _, _folder) = models(&["a", "b"]);
    models.start().await.unwrap();
    for name in ["c", ""] {
        let error = models.lease(name).await.unwrap_err();
        assert_eq!(
            (error.status(), error.kind.code()),
            (404, "model_not_found")
        );
        assert!(error.message.contains("`a`, `b`"), "{error}");
    }
}

#[tokio::test]
async fn models_of_a_folder_take_turns_when_nobody_is_at_work() {
    let (models, _, _folder) = models(&["a", "b"]);
    assert!(models.start().await.unwrap().is_none());
    assert_eq!(models.health(), Health::Ready);
    assert!(models.loaded().is_none());
    let first = models.lease("a").await.unwrap();
    let second = models.lease("a").await.unwrap();
    let other = models.clone();
    let mut waiting = Box::pin(async move { other.lease("b").await });
    assert!(waits(&mut waiting).await);
    drop(first);
    assert!(waits(&mut waiting).await);
    drop(second);
    assert_eq!(waiting.await.unwrap().name, "b");
    assert_eq!(models.loaded().unwrap().name, "b");
}

#[tokio::test]
async fn more_than_the_queue_are_not_kept_waiting_and_who_went_away_makes_room() {
    let (models, _, _folder) = models(&["a", "b"]);
    models.start().await.unwrap();
    let lease = models.lease("a").await.unwrap();
    let ask = || {
        let models = models.clone();
        Box::pin(async move { models.lease("b").await })
    };
    let mut waiting = [ask(), ask(), ask()];
    for one in &mut waiting {
        assert!(waits(one).await);
    }
    let refused = models.lease("b").await.unwrap_err();
    assert_eq!((refused.kind, refused.status()), (Kind::Overloaded, 503));
    let [one, two, three] = waiting;
    drop(two);
    let mut four = ask();
    assert!(waits(&mut four).await);
    drop(lease);
    drop(three);
    for one in [one, four] {
        assert_eq!(one.await.unwrap().name, "b");
    }
}

#[tokio::test]
async fn no_model_is_loaded_for_somebody_who_went_away() {
    let (models, told, _folder) = models(&["a", "b"]);
    models.start().await.unwrap();
    let lease = models.lease("a").await.unwrap();
    let other = models.clone();
    let mut waiting = Box::pin(async move { other.lease("b").await });
    assert!(waits(&mut waiting).await);
    drop(waiting);
    drop(lease);
    assert_eq!(models.lease("a").await.unwrap().name, "a");
    let is_of_b = |told: &Told| matches!(told, Told::Loading { model, .. } if model == "b");
    assert!(!told.lock().unwrap().iter().any(is_of_b));
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_is_no_harm_to_the_others() {
    let (models, told, _folder) = models(&["a", "broken"]);
    models.start().await.unwrap();
    drop(models.lease("a").await.unwrap());
    let error = models.lease("broken").await.unwrap_err();
    assert_eq!(error.status(), 500);
    assert!(error.message.contains("the worker's log"), "{error}");
    assert!(
        told.lock().unwrap().iter().any(
            |told| matches!(told, Told::Failed { message } if message.contains("no such file"))
        )
    );
    assert_eq!(models.lease("a").await.unwrap().name, "a");
}

/// Which models were loaded, in this order.
fn loads(told: &Mutex<Vec<Told>>) -> Vec<String> {
    let begins = |told: &Told| match told {
        Told::Loading { model, progress } if *progress == 0.0 => Some(model.clone()),
        _ => None,
    };
    told.lock().unwrap().iter().filter_map(begins).collect()
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_leaves_the_one_before_in_place() {
    let (models, told, _folder) = models(&["a", "broken", "damaged", "damaged-big"]);
    models.start().await.unwrap();
    drop(models.lease("a").await.unwrap());
    for name in ["broken", "damaged", "damaged-big"] {
        assert!(models.lease(name).await.is_err(), "{name}");
        assert_eq!(models.loaded().unwrap().name, "a", "{name}");
        let lease = models.lease("a").await.unwrap();
        assert!(lease.engine.is_alive(), "{name}");
    }
    assert_eq!(loads(&told), ["a", "broken"], "files are looked at first");
}

#[tokio::test]
async fn a_model_that_had_to_make_room_for_one_that_fails_is_loaded_again() {
    let (models, told, _folder) = models(&["a", "broken-big"]);
    models.start().await.unwrap();
    drop(models.lease("a").await.unwrap());
    assert!(models.lease("broken-big").await.is_err());
    assert!(models.loaded().is_none());
    assert_eq!(models.lease("a").await.unwrap().name, "a");
    assert_eq!(loads(&told), ["a", "broken-big", "a"]);
}

#[tokio::test]
async fn settings_that_cannot_be_met_are_told_before_anything_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let open = |options: &Options| {
        Models::open(options, toy::LOADER, Box::new(|_| ()), Arc::default()).map(|_| ())
    };
    let mut options = Options::new(ModelSource::Path(folder.path().to_owned()));
    assert!(open(&options).is_err(), "an empty folder");
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(format!("{name}.gguf")), "x").unwrap();
    }
    open(&options).unwrap();
    options.name = Some("mine".to_owned());
    assert!(open(&options).unwrap_err().contains("--model-name"));
    options.model = ModelSource::Path(folder.path().join("a.gguf"));
    open(&options).unwrap();
    options.chat_template = Some(folder.path().join("none.jinja"));
    assert!(open(&options).unwrap_err().contains("--chat-template"));
}

#[tokio::test]
async fn what_is_being_loaded_when_the_worker_stops_is_given_up_and_waited_for() {
    let (models, told, _folder) = models(&["endless"]);
    let mut start = Box::pin(models.start());
    assert!(waits(&mut start).await);
    let stopped = models.clone();
    tokio::task::spawn_blocking(move || stopped.stop())
        .await
        .unwrap();
    assert_eq!(start.await.unwrap_err().kind, Kind::ShuttingDown);
    let told = told.lock().unwrap();
    let failed = |told: &Told| matches!(told, Told::Failed { .. });
    assert!(!told.is_empty() && !told.iter().any(failed));
    assert!(models.loaded().is_none());
}
