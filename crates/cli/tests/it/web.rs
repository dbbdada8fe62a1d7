use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;

struct Web {
    child: Child,
    told: Value,
}

impl Web {
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["web", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            told: serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}")),
            child,
        }
    }

    fn interrupted(mut self) -> i32 {
        let pid = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::INT,
        )
        .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status.code().unwrap_or(-1),
                None => assert!(Instant::now() < until, "it did not end"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(port: &str, head: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(
        stream,
        "{head}\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_printed_address_opens_the_page_once_and_an_interrupt_ends_it() {
    let place = Place::fresh();
    let web = Web::start(&place);
    let url = web.told["url"].as_str().unwrap();
    let (port, query) = url
        .strip_prefix("http://127.0.0.1:")
        .and_then(|rest| rest.split_once("/?"))
        .unwrap();
    let followed = ask(port, &format!("GET /?{query} HTTP/1.1"));
    assert!(followed.starts_with("HTTP/1.1 303"), "{followed}");
    let cookie = followed
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let status = ask(
        port,
        &format!(
            "POST /call/status/read HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 0\r\ncookie: {cookie}"
        ),
    );
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    assert!(status.contains(r#""firstStart":true"#), "{status}");
    assert!(ask(port, &format!("GET /?{query} HTTP/1.1")).starts_with("HTTP/1.1 401"));

    let endpoint = web.told["endpoint"].as_str().unwrap();
    let front = endpoint
        .strip_prefix("http://127.0.0.1:")
        .and_then(|rest| rest.strip_suffix("/v1"))
        .unwrap()
        .to_owned();
    assert!(ask(&front, "GET /v1/models HTTP/1.1").starts_with("HTTP/1.1 401"));
    assert_eq!(web.interrupted(), 130);
    assert!(
        TcpStream::connect(format!("127.0.0.1:{front}")).is_err(),
        "nobody listens any more"
    );
}

#[test]
fn two_at_once_have_two_ports() {
    let place = Place::fresh();
    let (one, two) = (Web::start(&place), Web::start(&place));
    assert_ne!(one.told["url"], two.told["url"]);
    assert_eq!((one.interrupted(), two.interrupted()), (130, 130));
}
