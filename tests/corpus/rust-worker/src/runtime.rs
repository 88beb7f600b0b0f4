//! A client of the Runtime API, with the standard library only.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

pub fn serve(handle: fn(&str) -> String) {
    let host = std::env::var("AWS_LAMBDA_RUNTIME_API").expect("AWS_LAMBDA_RUNTIME_API is not set");
    loop {
        let (id, event) = call(&host, "GET", "next", "");
        call(&host, "POST", &format!("{id}/response"), &handle(&event));
    }
}

fn call(host: &str, method: &str, path: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(host).expect("connect");
    let length = body.len();
    write!(
        stream,
        "{method} /2018-06-01/runtime/invocation/{path} HTTP/1.1\r\nHost: {host}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("send");
    let mut reader = BufReader::new(stream);
    let (mut id, mut size) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("receive");
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            match name.to_ascii_lowercase().as_str() {
                "lambda-runtime-aws-request-id" => id = value.trim().to_string(),
                "content-length" => size = value.trim().parse().expect("length"),
                _ => {}
            }
        }
    }
    let mut content = vec![0; size];
    reader.read_exact(&mut content).expect("receive");
    (id, String::from_utf8_lossy(&content).into_owned())
}
