//! A pattern of the caller as a kernel: closures in place of an operation.

use std::marker::PhantomData;
use std::sync::Arc;

use comet_core::context::Context;
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{
    AxisUse, Case, Checker, Duty, Kernel, KernelInfo, LENGTH_BYTES, Operation, Pattern, Role,
    Seeds, Series, Timed,
};
use comet_core::transport::Transport;

/// Name of a pattern that the caller gives none.
const NAME: &str = "pattern";
/// The axis of a pattern that moves bytes.
const BYTES: &[AxisUse] = &[AxisUse::of(&LENGTH_BYTES, "")];

/// A pattern of the caller, in which all ranks take part: its buffers, its operation, and the two
/// halves of its check.
#[derive(Debug)]
pub struct Own<S, B, O, F, C> {
    pub(crate) name: String,
    /// Bytes that one operation moves.
    pub(crate) bytes: Option<u64>,
    is_checked: bool,
    buffers: B,
    actions: Actions<O, F, C>,
    state: PhantomData<fn() -> S>,
}

/// A pattern whose data is not checked.
pub type Unchecked<S, B, O> = Own<S, B, O, fn(&mut S, Seeds), fn(&mut S, &mut Checker)>;

impl<S, B, O> Unchecked<S, B, O> {
    /// The pattern of the operation `run` on `buffers`, without a check.
    pub(crate) fn new(buffers: B, run: O) -> Self {
        let fill: fn(&mut S, Seeds) = |_, _| ();
        let check: fn(&mut S, &mut Checker) = |_, _| ();
        let actions = Actions { run, fill, check };
        let (name, state) = (NAME.into(), PhantomData);
        Self { name, bytes: None, is_checked: false, buffers, actions, state }
    }
}

impl<S, B, O, F, C> Own<S, B, O, F, C> {
    /// This pattern with another check.
    pub(crate) fn checked<G, D>(self, fill: G, check: D) -> Own<S, B, O, G, D> {
        let Self { name, bytes, buffers, actions: Actions { run, .. }, state, .. } = self;
        let actions = Actions { run, fill, check };
        Own { name, bytes, is_checked: true, buffers, actions, state }
    }

    /// The kernel of this pattern. Its description is static, as all are, and stays in memory.
    pub(crate) fn kernel(self) -> OwnKernel<S, B, O, F, C> {
        let Self { name, bytes, is_checked, buffers, actions, state } = self;
        let name: &'static str = name.leak();
        let (mut axes, mut series): (&[_], _) = (&[], Series::completion(name));
        if bytes.is_some() {
            (axes, series) = (BYTES, series.moving(|case, _| case.find(&LENGTH_BYTES)));
        }
        let info = KernelInfo { name, axes, series: vec![series].leak(), is_checked, ..INFO };
        let steps = Timed(Steps { buffers, actions: Arc::new(actions), state });
        OwnKernel { info: Box::leak(Box::new(info)), bytes, steps }
    }
}

/// Description of all patterns.
const INFO: KernelInfo = KernelInfo {
    name: NAME,
    summary: "A pattern of the program that measured it",
    series: &[Series::completion(NAME)],
    admits: |_, _| Ok(()),
    bytes_per_rank: |case, _| 2 * case.find(&LENGTH_BYTES).unwrap_or(0),
    ..KernelInfo::collective("own")
};

/// A pattern under its name.
pub(crate) struct OwnKernel<S, B, O, F, C> {
    info: &'static KernelInfo,
    bytes: Option<u64>,
    steps: Timed<Steps<S, B, O, F, C>>,
}

impl<S, B, O, F, C> OwnKernel<S, B, O, F, C> {
    /// The only case.
    pub(crate) fn case(&self) -> Case {
        Case::new(self.info, self.bytes.as_slice())
    }
}

impl<T, S, B, O, F, C> Kernel<T> for OwnKernel<S, B, O, F, C>
where
    T: Transport,
    Steps<S, B, O, F, C>: Pattern<T>,
{
    fn info(&self) -> &'static KernelInfo {
        self.info
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> std::result::Result<(), KernelError> {
        self.steps.verify(cx, case)
    }

    fn measure(
        &self,
        cx: &mut Context<'_, T>,
        case: &Case,
    ) -> std::result::Result<(), KernelError> {
        self.steps.measure(cx, case)
    }
}

/// The closures of a pattern.
#[derive(Debug)]
pub(crate) struct Steps<S, B, O, F, C> {
    buffers: B,
    actions: Arc<Actions<O, F, C>>,
    state: PhantomData<fn() -> S>,
}

/// The closures that the part of a rank takes along.
#[derive(Debug)]
struct Actions<O, F, C> {
    run: O,
    fill: F,
    check: C,
}

/// The part of one rank.
pub(crate) struct Part<S, O, F, C> {
    state: S,
    actions: Arc<Actions<O, F, C>>,
}

impl<T, S, B, O, F, C> Pattern<T> for Steps<S, B, O, F, C>
where
    T: Transport,
    B: Fn(&T) -> Result<S> + Sync,
    O: Fn(&T, &mut S) -> Result<()> + Send + Sync,
    F: Fn(&mut S, Seeds) + Send + Sync,
    C: Fn(&mut S, &mut Checker) + Send + Sync,
{
    const INFO: KernelInfo = INFO;
    type Part = Part<S, O, F, C>;

    fn part(&self, cx: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        let state = (self.buffers)(cx.transport())?;
        Ok(Some((Duty::Together, Part { state, actions: Arc::clone(&self.actions) })))
    }
}

impl<T, S, O, F, C> Operation<T> for Part<S, O, F, C>
where
    T: Transport,
    O: Fn(&T, &mut S) -> Result<()>,
    F: Fn(&mut S, Seeds),
    C: Fn(&mut S, &mut Checker),
{
    fn fill(&mut self, seeds: Seeds) {
        (self.actions.fill)(&mut self.state, seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        (self.actions.run)(t, &mut self.state)
    }

    fn check(&mut self, check: &mut Checker) {
        (self.actions.check)(&mut self.state, check);
    }
}
