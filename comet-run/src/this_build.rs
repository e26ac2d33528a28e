//! This build of the program, as its build script noted it.

use comet_report::record::Suite;

/// Version, revision, compiler and flags; the hash of the executable file is left to the environment.
///
/// The flags are those of comet-run, in which the timed loops are instantiated.
pub(crate) fn suite() -> Suite {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let target = option_env!("COMET_TARGET").unwrap_or(std::env::consts::ARCH);
    let level = option_env!("COMET_OPT_LEVEL").unwrap_or("?");
    let flags = option_env!("COMET_RUSTFLAGS").unwrap_or_default();
    Suite {
        name: "comet".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        git_rev: option_env!("COMET_GIT_REV").map(Into::into),
        rustc: option_env!("COMET_RUSTC").map(Into::into),
        target: target.into(),
        profile: profile.into(),
        opt_flags: format!("-C opt-level={level} {flags}").trim_end().into(),
        target_features: option_env!("COMET_TARGET_FEATURES").map(Into::into),
        lock_sha256: option_env!("COMET_LOCK_SHA256").map(Into::into),
        binary_sha256: None,
    }
}
