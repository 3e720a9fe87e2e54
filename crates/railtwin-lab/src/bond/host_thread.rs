//! A thread that works until it is stopped.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The thread. Dropping it stops it and waits for its end.
#[derive(Debug)]
pub(super) struct HostThread {
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl HostThread {
    /// Starts it; `work` asks whether to end.
    pub(super) fn start(work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let handle = std::thread::spawn(move || work(&|| seen.load(Ordering::Relaxed)));
        Self { stop, handle: Some(handle) }
    }
}

impl Drop for HostThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            // One that panicked has said so.
            let _ = handle.join();
        }
    }
}
