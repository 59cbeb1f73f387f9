//! What cannot change while the proxy runs: sockets that listen, what was opened or started once.

use super::Config;

macro_rules! fixed {
    ($($key:literal => $($field:ident).+;)*) => {
        /// The keys of what needs a restart, in the order of the table of settings.
        pub const FIXED: &[&str] = &[$($key),*];

        impl Config {
            /// Takes back what cannot change while a proxy with another configuration runs; the keys of what was to.
            pub fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
                let mut kept = Vec::new();
                $(if self.$($field).+ != running.$($field).+ {
                    self.$($field).+.clone_from(&running.$($field).+);
                    kept.push($key);
                })*
                kept
            }
        }
    };
}

fixed! {
    "listen" => listen;
    "admin" => admin;
    "admin_token_file" => admin_token;
    "record" => record;
    "tls.cert" => tls.cert;
    "tls.key" => tls.key;
    "tls.client_ca" => tls.client_ca;
    "tls.admin" => tls.admin;
    "log_format" => log_json;
    "otlp_endpoint" => otlp_endpoint;
    "limits.memory_budget" => limits.memory_budget;
    "limits.cache_entries" => limits.cache_entries;
    "limits.cache_bytes" => limits.cache_bytes;
    "limits.threads" => limits.threads;
    "timeouts.compile" => timeouts.compile;
    "responses.store" => responses.store;
    "responses.entries" => responses.entries;
    "responses.bytes" => responses.bytes;
    "responses.expiry" => responses.expiry;
    "worker.model" => worker.model;
    "worker.name" => worker.name;
    "worker.chat_template" => worker.chat_template;
    "worker.mmproj" => worker.mmproj;
    "worker.context" => worker.context;
    "worker.slots" => worker.slots;
    "worker.queue" => worker.queue;
    "worker.threads" => worker.threads;
    "worker.gpu_layers" => worker.gpu_layers;
    "worker.device" => worker.device;
    "worker.stuck_after" => worker.stuck_after;
    "worker.whitespace" => worker.whitespace;
    "worker.speculate" => worker.speculate;
    "worker.grammar_cache_entries" => worker.grammar_cache_entries;
    "worker.grammar_cache_bytes" => worker.grammar_cache_bytes;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SETTINGS;

    #[test]
    fn what_needs_a_restart_is_among_the_settings_in_their_order() {
        let places: Option<Vec<usize>> = FIXED
            .iter()
            .map(|key| SETTINGS.iter().position(|setting| setting.key == *key))
            .collect();
        assert!(places.is_some_and(|places| places.is_sorted()));
        // Where there is a worker, all that is said of it was said at its start.
        let of_it = SETTINGS.iter().filter(|one| one.key.starts_with("worker."));
        assert!(of_it.into_iter().all(|one| FIXED.contains(&one.key)));
    }

    #[test]
    fn what_needs_a_restart_stays_and_is_named_and_all_else_changes() {
        let running = Config::default();
        let mut read = Config::default();
        read.listen.set_port(1);
        read.worker.slots += 1;
        read.violation_retries += 1;
        assert_eq!(read.keep_fixed(&running), ["listen", "worker.slots"]);
        assert_eq!(read.listen, running.listen);
        assert_eq!(read.worker.slots, running.worker.slots);
        assert_ne!(read.violation_retries, running.violation_retries);
        assert!(read.keep_fixed(&running).is_empty());
    }
}
