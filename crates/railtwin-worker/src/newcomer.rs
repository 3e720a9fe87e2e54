//! Connections that were accepted while the job runs, until their greetings have come.
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};

use crate::attempt::read_into;
use crate::greeting::{GREETING, Greeting};

/// Most of them. The oldest goes first: no rank waits for long before it greets.
const NEWCOMERS_MAX: usize = 256;

#[derive(Debug)]
struct Newcomer {
    stream: TcpStream,
    greeting: [u8; GREETING],
    filled: usize,
}

/// Connections without a greeting.
#[derive(Debug, Default)]
pub(crate) struct Newcomers(Vec<Newcomer>);

impl Newcomers {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.extend(self.0.iter().map(|one| PollFd::new(one.stream.as_fd(), PollFlags::POLLIN)));
    }

    /// Accepts all connections that have come.
    pub(crate) fn accept(&mut self, listener: &TcpListener) {
        // A connection that broke before it was accepted is an error of `accept`, too.
        while let Ok((stream, _)) = listener.accept() {
            let set = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
            if set.is_ok() {
                if self.0.len() >= NEWCOMERS_MAX {
                    self.0.remove(0);
                }
                self.0.push(Newcomer { stream, greeting: [0; GREETING], filled: 0 });
            }
        }
    }

    /// Takes out the next connection whose greeting has come. Those that broke, or that greet otherwise, are closed.
    pub(crate) fn next_greeted(&mut self) -> Option<(Greeting, TcpStream)> {
        let mut at = 0;
        while let Some(one) = self.0.get_mut(at) {
            let is_whole = read_into(&one.stream, &mut one.greeting, &mut one.filled);
            if matches!(is_whole, Ok(false)) {
                at += 1;
                continue;
            }
            let one = self.0.remove(at);
            if let (Ok(_), Some(greeting)) = (is_whole, Greeting::read(&one.greeting)) {
                return Some((greeting, one.stream));
            }
        }
        None
    }
}
