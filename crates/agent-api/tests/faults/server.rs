//! A small server that misbehaves as it is told: one thread, one behaviour for each connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The behaviour of one connection.
#[derive(Clone)]
pub(crate) enum Act {
    /// Writes these bytes and closes.
    Say(Vec<u8>),
    /// Writes the head of a stream and then these pieces, each alone, and closes.
    Stream(Vec<String>),
    /// Waits for the pause before each piece.
    Slow(Duration, Vec<String>),
    /// Writes the first bytes of a stream and drops the connection.
    Break(Vec<String>, usize),
    /// Accepts, reads the request, and never says anything.
    Hang,
    /// Passes the connection on to the port, as a proxy that was asked to CONNECT.
    Connect(u16),
}

/// A request as the server saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let headers = self.headers.iter();
        let mut fields = headers.filter_map(|header| header.split_once(": "));
        fields
            .find(|(one, _)| one.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    /// A word for each connection that the client closed before the server did.
    pub(crate) left: Receiver<()>,
}

impl Server {
    /// Serves one connection for each act; further ones are refused.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (leaving, left) = mpsc::channel();
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for act in acts {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                let Some(request) = read_request(&mut stream) else {
                    continue;
                };
                kept.lock().unwrap().push(request);
                if perform(&mut stream, act).is_err() {
                    let _ = leaving.send(());
                }
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        Self {
            address,
            seen,
            left,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

pub(crate) fn read_request(stream: &mut impl Read) -> Option<Seen> {
    let mut reader = BufReader::with_capacity(1, stream);
    let mut seen = Seen::default();
    reader.read_line(&mut seen.line).ok()?;
    seen.line.truncate(seen.line.trim_end().len());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        seen.headers.push(line.trim_end().to_owned());
    }
    let length = seen
        .header("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).ok()?;
    Some(seen)
}

pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn perform(stream: &mut TcpStream, act: Act) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    match act {
        Act::Say(bytes) => stream.write_all(&bytes),
        Act::Stream(pieces) => write_pieces(stream, Duration::ZERO, &pieces),
        Act::Slow(pause, pieces) => write_pieces(stream, pause, &pieces),
        Act::Break(pieces, at) => {
            let whole = format!("{STREAM_HEAD}{}", pieces.concat());
            stream.write_all(&whole.as_bytes()[..at])
        }
        Act::Hang => {
            // Ends when the client goes.
            let mut byte = [0];
            match stream.read(&mut byte)? {
                0 => Err(std::io::ErrorKind::BrokenPipe.into()),
                _ => Ok(()),
            }
        }
        Act::Connect(port) => pass_on(stream, port),
    }
}

fn write_pieces(stream: &mut TcpStream, pause: Duration, pieces: &[String]) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD.as_bytes())?;
    for piece in pieces {
        thread::sleep(pause);
        stream.write_all(piece.as_bytes())?;
        stream.flush()?;
    }
    Ok(())
}

fn pass_on(stream: &mut TcpStream, port: u16) -> std::io::Result<()> {
    let mut target = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut from, mut to) = (stream.try_clone()?, target.try_clone()?);
    let upward = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    std::io::copy(&mut target, stream)?;
    let _ = stream.shutdown(Shutdown::Both);
    let _ = upward.join();
    Ok(())
}

/// A plain answer with a status, headers and a body.
pub(crate) fn plain(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Say(
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
            .into_bytes(),
    )
}
