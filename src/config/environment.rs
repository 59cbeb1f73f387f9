//! Variables of the environment that look like settings and are none: their names in, which ones were probably meant out.

use super::fault::did_you_mean;
use super::settings::SETTINGS;

/// What the names of all variables that are read begin with.
const PREFIX: &str = "ISOGLOSS_";
/// Those that are no settings.
const OTHERS: &[&str] = &[
    "ISOGLOSS_CONFIG",
    "ISOGLOSS_UPSTREAM",
    "ISOGLOSS_DIALECT",
    "ISOGLOSS_MARKUP",
    "ISOGLOSS_UPSTREAM_API_KEY",
    "ISOGLOSS_ADMIN_CA_FILE",
    "ISOGLOSS_ADMIN_CLIENT_CERT_FILE",
    "ISOGLOSS_ADMIN_CLIENT_KEY_FILE",
];

/// What is to be said of the variables that are there (`set`), where `read` are those that were looked for. One that is far
/// from all that are read is somebody else's.
pub(crate) fn misspelt<'n>(set: impl Iterator<Item = &'n str>, read: &[String]) -> Vec<String> {
    let known = || {
        SETTINGS
            .iter()
            .map(|setting| setting.env)
            .chain(OTHERS.iter().copied())
    };
    let is_read = |name: &str| known().any(|it| it == name) || read.iter().any(|it| it == name);
    let mut all: Vec<String> = set
        .filter(|name| !is_read(name))
        .filter_map(|name| {
            let own = name
                .strip_prefix(PREFIX)
                .filter(|own| !is_of_a_service(own))?;
            let near = did_you_mean(own, known().filter_map(|it| it.strip_prefix(PREFIX)))?;
            Some(format!(
                "`{name}` is no variable that is read: did you mean `{PREFIX}{near}`?"
            ))
        })
        .collect();
    all.sort_unstable();
    all
}

/// Kubernetes tells each container of every Service, and one may be called isogloss: `ISOGLOSS_PORT`,
/// `ISOGLOSS_SERVICE_PORT_HTTP`, `ISOGLOSS_PORT_8080_TCP_ADDR`.
fn is_of_a_service(own: &str) -> bool {
    let own = format!("_{own}");
    let is_of_port = |(_, behind): (&str, &str)| {
        let number = behind.split('_').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    own.ends_with("_PORT")
        || own.ends_with("_SERVICE_HOST")
        || own.contains("_SERVICE_PORT")
        || own.split_once("_PORT_").is_some_and(is_of_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(set: &[&str], read: &[&str]) -> Vec<String> {
        let read: Vec<String> = read.iter().map(|name| (*name).to_owned()).collect();
        misspelt(set.iter().copied(), &read)
    }

    #[test]
    fn a_name_that_is_near_to_one_that_is_read_is_said() {
        assert_eq!(
            said(&["ISOGLOSS_ON_VIOLATON", "PATH", "ISOGLOSS_LISTN"], &[]),
            [
                "`ISOGLOSS_LISTN` is no variable that is read: did you mean `ISOGLOSS_LISTEN`?",
                "`ISOGLOSS_ON_VIOLATON` is no variable that is read: did you mean `ISOGLOSS_ON_VIOLATION`?",
            ]
        );
        let key = "ISOGLOSS_UPSTREAM_API_KEY_2";
        assert_eq!(said(&[key], &[]).len(), 1);
        // The file names it (`api_key_env`).
        assert!(said(&[key], &[key]).is_empty());
    }

    #[test]
    fn what_is_read_and_what_is_others_is_not_said() {
        for setting in SETTINGS {
            assert!(said(&[setting.env], &[]).is_empty(), "{}", setting.env);
            let own = setting.env.strip_prefix(PREFIX);
            assert_eq!(own.map(is_of_a_service), Some(false), "{}", setting.env);
        }
        assert!(said(OTHERS, &[]).is_empty());
        for name in [
            "ISOGLOSS_DATA",
            "ISOGLOSS_CAPTURES",
            "ISOGLOSS_BIN",
            "ISOGLOSS_PORT",
            "ISOGLOSS_SERVICE_HOST",
            "ISOGLOSS_SERVICE_PORT",
            "ISOGLOSS_SERVICE_PORT_HTTP",
            "ISOGLOSS_PORT_8080_TCP",
            "ISOGLOSS_PORT_8080_TCP_ADDR",
            "ISOGLOSS_ADMIN_SERVICE_HOST",
            "ISOGLOSS_ADMIN_PORT_9090_TCP_PROTO",
        ] {
            assert!(said(&[name], &[]).is_empty(), "{name}");
        }
    }
}
