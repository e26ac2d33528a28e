//! Limits on the requests of one client: a bucket for each, which fills up again with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::Request;

use super::lock;

/// The most buckets; the fullest of them are dropped.
const MOST: usize = 10_000;
/// The header in which a proxy names its client.
const FORWARDED: &str = "x-forwarded-for";

/// Address of the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// A limit for each client.
#[derive(Debug)]
pub(super) struct Rate<K> {
    /// Requests that a client may send at once.
    most: f64,
    /// Requests a second after that.
    per_s: f64,
    /// Requests left for each client, as of a moment.
    left: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Clone + Eq + Hash> Rate<K> {
    pub(super) fn new(most: f64, per_s: f64) -> Self {
        Self { most, per_s, left: Mutex::default() }
    }

    /// Takes a request of `client` at the time `now`; otherwise the time until there is one.
    pub(super) fn take(&self, client: &K, now: Instant) -> Result<(), Duration> {
        let mut clients = lock(&self.left);
        if clients.len() >= MOST {
            clients.retain(|_, (left, at)| self.filled(*left, *at, now) < self.most);
            if clients.len() >= MOST {
                clients.clear();
            }
        }
        let (left, at) = clients.get(client).copied().unwrap_or((self.most, now));
        let left = self.filled(left, at, now);
        let is_admitted = left >= 1.0;
        clients.insert(client.clone(), (if is_admitted { left - 1.0 } else { left }, now));
        if is_admitted { Ok(()) } else { Err(Duration::from_secs_f64((1.0 - left) / self.per_s)) }
    }

    /// Requests left at the time `now`, of which there were `left` at the time `at`.
    fn filled(&self, left: f64, at: Instant, now: Instant) -> f64 {
        let passed_s = now.saturating_duration_since(at).as_secs_f64();
        (left + passed_s * self.per_s).min(self.most)
    }
}

/// The address that `request` comes from; `None` of this machine itself. A proxy on this machine, or one of
/// `proxies`, is believed in what it adds, the last name of the header.
pub(super) fn client(request: &Request, proxies: &[IpAddr]) -> Option<IpAddr> {
    let Peer(peer) = request.extensions().get::<Peer>()?;
    let peer = peer.to_canonical();
    let own = (!peer.is_loopback()).then(|| network(peer));
    if own.is_some() && !proxies.contains(&peer) {
        return own;
    }
    let names = request.headers().get_all(FORWARDED).iter().next_back();
    let name = names.and_then(|names| names.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    name.map(network).or(own)
}

/// The part of `address` that one client has: of IPv6 the network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn a_client_that_sends_too_much_waits_and_others_do_not() {
        let (rate, now) = (Rate::new(3.0, 0.5), Instant::now());
        let sent: Vec<bool> = (0..5).map(|_| rate.take(&"a", now).is_ok()).collect();
        assert_eq!(sent, [true, true, true, false, false]);
        assert_eq!(rate.take(&"a", now), Err(Duration::from_secs(2)));
        assert!(rate.take(&"b", now).is_ok());
        let later = now + Duration::from_secs(2);
        assert!(rate.take(&"a", later).is_ok() && rate.take(&"a", later).is_err());
        let much_later = now + Duration::from_secs(3600);
        let sent = (0..9).filter(|_| rate.take(&"a", much_later).is_ok()).count();
        assert_eq!(sent, 3, "no more than at the start");
    }

    #[test]
    fn no_number_of_clients_takes_more_memory() {
        let (rate, now) = (Rate::new(2.0, 1.0), Instant::now());
        for number in 0..3 * MOST {
            rate.take(&number, now).unwrap();
        }
        assert!(lock(&rate.left).len() <= MOST);
    }

    #[test]
    fn clients_are_told_apart_by_address_and_proxies_are_believed() {
        let of = |peer: &str, forwarded: &[&str]| {
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(Peer(peer.parse().unwrap()));
            for names in forwarded {
                request.headers_mut().append(FORWARDED, names.parse().unwrap());
            }
            let proxies = ["10.0.0.2".parse().unwrap()];
            client(&request, &proxies).map(|address| address.to_string())
        };
        assert_eq!(of("127.0.0.1", &[]), None);
        assert_eq!(of("10.0.0.7", &["1.1.1.1"]).as_deref(), Some("10.0.0.7"), "anybody can say so");
        assert_eq!(of("127.0.0.1", &["6.6.6.6", "6.6.6.6, 1.1.1.1"]).as_deref(), Some("1.1.1.1"));
        assert_eq!(of("::1", &["x"]), None);
        assert_eq!(of("10.0.0.2", &["1.1.1.1"]).as_deref(), Some("1.1.1.1"), "a proxy elsewhere");
        assert_eq!(of("::ffff:10.0.0.2", &["1.1.1.1"]).as_deref(), Some("1.1.1.1"));
        assert_eq!(of("10.0.0.2", &[]).as_deref(), Some("10.0.0.2"));
        assert_eq!(of("2001:db8::7", &[]).as_deref(), Some("2001:db8::"));
        assert_eq!(of("::ffff:10.0.0.7", &[]).as_deref(), Some("10.0.0.7"));
    }
}
