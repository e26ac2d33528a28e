//! Tokens of an index, which no blob holds.

use super::Index;
use crate::Error;
use crate::id::Id;
use crate::rows::Table;
use crate::store::{Row, Value};
use crate::token::{Scope, Secret, matches};

/// A token as the index knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenRow {
    /// Name, by which the operator and the audit log call it.
    pub name: String,
    /// SHA-256 of the secret.
    pub sha256: String,
    /// Its rights.
    pub scopes: Vec<Scope>,
    /// Pattern of the names of machines whose runs it may submit.
    pub machine: String,
    /// Time at which it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// Time from which it is of no use.
    pub expires_ms: Option<i64>,
    /// Time at which it was revoked.
    pub revoked_ms: Option<i64>,
}

impl TokenRow {
    /// True if the token gives the right `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// True if it may submit runs of the machine called `name`.
    pub fn covers(&self, name: &str) -> bool {
        self.scopes.contains(&Scope::Admin) || matches(&self.machine, name)
    }

    /// Its state at the time `now_ms`: `valid`, `expired` or `revoked`.
    pub fn state(&self, now_ms: i64) -> &'static str {
        match (self.revoked_ms, self.expires_ms) {
            (Some(_), _) => "revoked",
            (None, Some(end)) if end <= now_ms => "expired",
            _ => "valid",
        }
    }
}

impl Table for TokenRow {
    const NAME: &'static str = "token";
    const COLUMNS: &'static [&'static str] =
        &["id", "name", "sha256", "scopes", "machine", "created_ms", "expires_ms", "revoked_ms"];

    fn values(&self) -> Vec<Value<'_>> {
        let scopes: Vec<&str> = self.scopes.iter().map(|scope| scope.name()).collect();
        vec![
            Id::of("token", &[&self.name]).into(),
            (&self.name).into(),
            (&self.sha256).into(),
            scopes.join(" ").into(),
            (&self.machine).into(),
            self.created_ms.into(),
            self.expires_ms.into(),
            self.revoked_ms.into(),
        ]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        row.id()?;
        Ok(Self {
            name: row.text()?,
            sha256: row.text()?,
            // A scope of a later version gives no right here.
            scopes: row.text()?.split(' ').filter_map(Scope::find).collect(),
            machine: row.text()?,
            created_ms: row.int()?,
            expires_ms: row.maybe_int()?,
            revoked_ms: row.maybe_int()?,
        })
    }
}

impl Index {
    /// Adds `token`.
    ///
    /// # Errors
    /// If there is one of its name, or the engine refuses.
    pub fn add_token(&mut self, token: &TokenRow) -> Result<(), Error> {
        if self.tokens()?.iter().any(|other| other.name == token.name) {
            return Err(Error::Unknown(format!(
                "there is a token {} already (choose another name: the audit log knows tokens by theirs)",
                token.name
            )));
        }
        self.insert(token)
    }

    /// All tokens, by their names.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn tokens(&mut self) -> Result<Vec<TokenRow>, Error> {
        self.select("ORDER BY name", &[])
    }

    /// The token whose secret is `secret`, if it is valid at the time `now_ms`.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn token(&mut self, secret: &Secret, now_ms: i64) -> Result<Option<TokenRow>, Error> {
        self.valid(&secret.sha256(), now_ms)
    }

    /// The token whose secret has this SHA-256, if it is valid at the time `now_ms`.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn valid(&mut self, sha256: &str, now_ms: i64) -> Result<Option<TokenRow>, Error> {
        let found: Vec<TokenRow> = self.select("WHERE sha256 = $1", &[sha256.into()])?;
        Ok(found.into_iter().find(|token| token.state(now_ms) == "valid"))
    }

    /// Revokes the token `name` at the time `now_ms`.
    ///
    /// # Errors
    /// If there is none, or the engine refuses.
    pub fn revoke(&mut self, name: &str, now_ms: i64) -> Result<(), Error> {
        let sql = "UPDATE token SET revoked_ms = $1 WHERE name = $2 AND revoked_ms IS NULL";
        if self.store.execute(sql, &[now_ms.into(), name.into()])? == 1 {
            return Ok(());
        }
        Err(Error::Unknown(format!(
            "there is no token {name} that is not revoked (see comet-run db token list)"
        )))
    }
}
