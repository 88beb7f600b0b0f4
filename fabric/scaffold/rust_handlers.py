"""Rust programs of new functions by trigger, and the modules that they share."""

from collections.abc import Mapping

from fabric.model.names import TriggerKind

_HEAD = """\
#[path = "../json.rs"]
pub mod json;
#[path = "../lambda.rs"]
pub mod lambda;

use json::Json;

fn main() -> std::io::Result<()> {
    lambda::serve(handle)
}

"""
RUST_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: _HEAD
    + """\
pub fn handle(event: &Json) -> Result<Json, String> {
    let name = event.get("queryStringParameters").get("name").text().unwrap_or("world");
    let body = Json::object([("message", Json::from(format!("Hello, {name}!")))]);
    Ok(Json::object([
        ("statusCode", Json::Number(200.0)),
        ("headers", Json::object([("content-type", Json::from("application/json"))])),
        ("body", Json::from(body.to_string())),
    ]))
}
""",
    TriggerKind.QUEUE: _HEAD
    + """\
/// Messages listed in the response are retried. All others are deleted from the queue.
pub fn handle(event: &Json) -> Result<Json, String> {
    let mut failures = Vec::new();
    for record in event.get("Records").list() {
        let body = record.get("body").text().unwrap_or("");
        if let Err(error) = json::parse(body).and_then(process) {
            let id = record.get("messageId").text().unwrap_or("");
            eprintln!("message {id}: {error}");
            failures.push(Json::object([("itemIdentifier", Json::from(id))]));
        }
    }
    Ok(Json::object([("batchItemFailures", Json::List(failures))]))
}

fn process(message: Json) -> Result<(), String> {
    println!("message: {message}");
    Ok(())
}
""",
    TriggerKind.CRON: _HEAD
    + """\
pub fn handle(event: &Json) -> Result<Json, String> {
    let time = event.get("time");
    println!("due at {time}");
    Ok(Json::object([("dueAt", time.clone())]))
}
""",
    TriggerKind.STORAGE: _HEAD
    + """\
pub fn handle(event: &Json) -> Result<Json, String> {
    let records = event.get("Records").list();
    let names = records.iter().map(|one| Json::from(name_of(one.get("objstore1"))));
    let objects = Json::List(names.collect());
    println!("objects: {objects}");
    Ok(Json::object([("objects", objects)]))
}

fn name_of(stored: &Json) -> String {
    let bucket = stored.get("bucket").get("name").text().unwrap_or("");
    let key = stored.get("object").get("key").text().unwrap_or("");
    format!("{bucket}/{}", decode(key))
}

/// Keys are URL-encoded.
fn decode(key: &str) -> String {
    let bytes = key.replace('+', " ").into_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        let byte = escaped.filter(|_| bytes[at] == b'%');
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
""",
    TriggerKind.PUBSUB: _HEAD
    + """\
pub fn handle(event: &Json) -> Result<Json, String> {
    let mut message = Json::Null;
    for record in event.get("Records").list() {
        let text = record.get("Sns").get("Message").text().unwrap_or("");
        message = json::parse(text)?;
        println!("message: {message}");
    }
    Ok(Json::object([("received", message)]))
}
""",
    TriggerKind.EVENTBUS: _HEAD
    + """\
pub fn handle(event: &Json) -> Result<Json, String> {
    println!("{} {} {}", event.get("source"), event.get("detail-type"), event.get("detail"));
    Ok(Json::object([("received", event.get("detail-type").clone())]))
}
""",
}
RUST_CLIENT = """\
//! A small client of the Lambda Runtime API, with the standard library only.
//! The official one is the crate lambda_runtime: its `run` replaces `serve`.

use super::json::{self, Json};
use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;

const PATH: &str = "/2018-06-01/runtime/invocation/";
const ID: &str = "lambda-runtime-aws-request-id:";

/// Calls the handler with each event, until the platform ends the process.
pub fn serve(handle: fn(&Json) -> std::result::Result<Json, String>) -> Result<()> {
    let api = std::env::var("AWS_LAMBDA_RUNTIME_API").map_err(Error::other)?;
    loop {
        let (head, event) = request(&api, "GET", "next", "")?;
        let id = head.lines().find_map(|line| {
            let name = line.get(..ID.len())?;
            name.eq_ignore_ascii_case(ID).then(|| line[ID.len()..].trim())
        });
        let id = id.ok_or_else(|| Error::other("the Lambda Runtime API returned no event"))?;
        let (path, body) = match json::parse(&event).and_then(|event| handle(&event)) {
            Ok(response) => (format!("{id}/response"), response),
            Err(message) => {
                let kind = ("errorType", Json::from("Error"));
                let error = Json::object([kind, ("errorMessage", Json::from(message))]);
                (format!("{id}/error"), error)
            }
        };
        request(&api, "POST", &path, &body.to_string())?;
    }
}

/// Sends a request, and returns the headers and the body of its response.
fn request(api: &str, method: &str, path: &str, body: &str) -> Result<(String, String)> {
    let mut stream = TcpStream::connect(api)?;
    let size = body.len();
    let head = format!("{method} {PATH}{path} HTTP/1.0\\r\\nHost: {api}");
    write!(stream, "{head}\\r\\nContent-Length: {size}\\r\\n\\r\\n{body}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\\r\\n\\r\\n").unwrap_or((&text, ""));
    Ok((head.to_owned(), body.to_owned()))
}
"""
RUST_JSON = r"""//! A small JSON value, with the standard library only.
//! The usual crate is serde_json.

#![allow(dead_code)]

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns a member of an object, or null.
    pub fn get(&self, name: &str) -> &Json {
        let Json::Object(fields) = self else { return &Json::Null };
        fields.iter().find(|one| one.0 == name).map_or(&Json::Null, |one| &one.1)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list; none for any other value.
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(value) => write!(out, "{value}"),
            Json::Text(text) => write_text(out, text),
            Json::List(items) => {
                write!(out, "[")?;
                for (number, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if number > 0 { "," } else { "" })?;
                }
                write!(out, "]")
            }
            Json::Object(fields) => {
                write!(out, "{{")?;
                for (number, (name, value)) in fields.iter().enumerate() {
                    write!(out, "{}", if number > 0 { "," } else { "" })?;
                    write_text(out, name)?;
                    write!(out, ":{value}")?;
                }
                write!(out, "}}")
            }
        }
    }
}

fn write_text(out: &mut fmt::Formatter, text: &str) -> fmt::Result {
    write!(out, "\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(out, "\\{letter}")?,
            letter if letter < ' ' => write!(out, "\\u{:04x}", letter as u32)?,
            letter => write!(out, "{letter}")?,
        }
    }
    write!(out, "\"")
}

pub fn parse(text: &str) -> Result<Json, String> {
    let mut parser = Parser { rest: text.trim() };
    let value = parser.value()?;
    match parser.rest.trim_start() {
        "" => Ok(value),
        rest => Err(format!("unexpected text after the JSON value: {rest}")),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Json, String> {
        if self.take("null") {
            return Ok(Json::Null);
        }
        for value in [true, false] {
            if self.take(&value.to_string()) {
                return Ok(Json::Bool(value));
            }
        }
        if self.take("\"") {
            return self.text().map(Json::Text);
        }
        if self.take("[") {
            let mut items = Vec::new();
            while self.has_more("]", items.is_empty())? {
                items.push(self.value()?);
            }
            return Ok(Json::List(items));
        }
        if self.take("{") {
            let mut fields = Vec::new();
            while self.has_more("}", fields.is_empty())? {
                self.expect("\"")?;
                let name = self.text()?;
                self.expect(":")?;
                fields.push((name, self.value()?));
            }
            return Ok(Json::Object(fields));
        }
        self.number()
    }

    fn number(&mut self) -> Result<Json, String> {
        let is_part = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().map(Json::Number).map_err(|_| format!("invalid JSON at: {digits}{rest}"))
    }

    /// Reads a text after its opening quote.
    fn text(&mut self) -> Result<String, String> {
        let mut units: Vec<u16> = Vec::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(String::from_utf16_lossy(&units));
                }
                '\\' => {
                    let code = match letters.next().map(|(_, letter)| letter) {
                        Some('n') => 10,
                        Some('t') => 9,
                        Some('r') => 13,
                        Some('b') => 8,
                        Some('f') => 12,
                        Some('u') => {
                            let digits = letters.by_ref().take(4).map(|(_, digit)| digit);
                            let digits: String = digits.collect();
                            u16::from_str_radix(&digits, 16).map_err(|_| "invalid escape")?
                        }
                        Some(letter) => letter as u16,
                        None => break,
                    };
                    units.push(code);
                }
                letter => units.extend(letter.encode_utf16(&mut [0; 2]).iter()),
            }
        }
        Err("a JSON text has no end".to_owned())
    }

    /// Returns whether another item follows, and moves to it.
    fn has_more(&mut self, end: &str, is_first: bool) -> Result<bool, String> {
        if self.take(end) {
            return Ok(false);
        }
        if !is_first {
            self.expect(",")?;
        }
        Ok(true)
    }

    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix(word).unwrap_or(rest);
        rest.len() != self.rest.len()
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.take(word) {
            return Ok(());
        }
        Err(format!("expected {word} in JSON at: {}", self.rest))
    }
}
"""
RUST_TEST = """\
#[allow(dead_code)]
#[path = "../src/bin/%s.rs"]
mod program;

use program::{handle, json};

#[test]
fn handles_its_event() {
    let event = json::parse(include_str!("../event.template.json")).unwrap();
    let response = handle(&event).unwrap();
    let wanted = json::parse(r#"%s"#).unwrap();
    let json::Json::Object(fields) = wanted else { panic!() };
    for (name, value) in fields {
        assert_eq!(response.get(&name), &value);
    }
}
"""
