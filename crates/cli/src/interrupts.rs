use plimsoll_os::jobs::Scope;
use tokio::sync::watch;

/// Ctrl-C, or a request to end. Each copy hears every interrupt once, also one that came while nobody waited:
/// a person presses the keys whenever they like.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts(watch::Receiver<u64>);

impl Interrupts {
    /// Listens from now on, for as long as `scope` lives.
    pub(crate) fn listen(scope: &Scope) -> Self {
        let (count, heard) = watch::channel(0);
        match system::Signals::register() {
            Ok(mut signals) => scope.keep(|stop| async move {
                loop {
                    tokio::select! {
                        () = signals.next() => count.send_modify(|count| *count += 1),
                        () = stop.cancelled() => return,
                    }
                }
            }),
            // The system then ends us by itself.
            Err(error) => tracing::warn!(%error, "interrupts are not heard"),
        }
        Self(heard)
    }

    /// Waits for the next one. May be dropped and called again without losing any.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
mod system {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(super) fn register() -> std::io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(super) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        }
    }
}

#[cfg(windows)]
mod system {
    use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

    pub(super) struct Signals {
        interrupt: CtrlC,
        terminate: CtrlBreak,
    }

    impl Signals {
        pub(super) fn register() -> std::io::Result<Self> {
            Ok(Self {
                interrupt: ctrl_c()?,
                terminate: ctrl_break()?,
            })
        }

        pub(super) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use plimsoll_os::jobs::Root;
    use plimsoll_os::process;
    use rustix::process::{Pid, Signal, kill_process};

    use super::Interrupts;

    #[tokio::test]
    async fn an_interrupt_that_comes_while_nobody_waits_is_heard_later_and_by_everyone() {
        let root = Root::new();
        let mut one = Interrupts::listen(&root.scope());
        let mut two = one.clone();
        let own = Pid::from_raw(i32::try_from(process::own_pid()).unwrap()).unwrap();
        kill_process(own, Signal::INT).unwrap();
        // Longer than the signal needs: it is there before anyone asks.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        one.next().await;
        two.next().await;
        let again = tokio::time::timeout(std::time::Duration::from_millis(50), one.next()).await;
        assert!(again.is_err(), "heard once");
    }
}
