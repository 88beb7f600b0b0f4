// The files of an archive that lies in parts, laid out in a folder: stored and deflated entries.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { inflateRawSync } from "node:zlib";

const [END, ENTRY] = [0x06054b50, 0x02014b50];
const [STORED, DEFLATED] = [0, 8];

export function laidOut(parts, folder) {
  for (const [name, content] of entries(joined(parts))) {
    const file = join(folder, normalize(name));
    if (!file.startsWith(folder)) throw new Error(`the archive contains a path outside itself: ${name}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return folder;
}

function joined(parts) {
  const names = readdirSync(parts).filter((name) => name.startsWith("archive.")).sort();
  return Buffer.concat(names.map((name) => readFileSync(join(parts, name))));
}

function* entries(zip) {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || zip.readUInt32LE(end) !== END) throw new Error("the archive is not a complete zip file");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== ENTRY) throw new Error("the file list of the archive is damaged");
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => zip.readUInt16LE(at + place));
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength);
    if (!name.endsWith("/")) yield [name, content(zip, at, name)];
    at += 46 + nameLength + extra + comment;
  }
}

function content(zip, at, name) {
  const [method, size, start] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 42)];
  const begin = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
  const raw = zip.subarray(begin, begin + size);
  if (method === STORED) return raw;
  if (method === DEFLATED) return inflateRawSync(raw);
  throw new Error(`the archive's file ${name} has the unsupported compression method ${method}`);
}
