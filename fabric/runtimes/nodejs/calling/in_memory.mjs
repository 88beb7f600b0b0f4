// A connection between Node's own http client and server that leaves no process: no port, no file.
import { Duplex } from "node:stream";

class End extends Duplex {
  remoteAddress = "127.0.0.1";
  remoteFamily = "IPv4";
  other = null;
  waiting = null;

  _read() {
    const go = this.waiting;
    this.waiting = null;
    go?.();
  }

  _write(chunk, _encoding, done) {
    if (!chunk.length) return void process.nextTick(done);
    this.other.waiting = done;
    this.other.push(chunk);
  }

  _final(done) {
    this.other.push(null);
    done();
  }

  // Sockets have these; nothing here ever idles.
  setTimeout() {
    return this;
  }

  setNoDelay() {
    return this;
  }

  setKeepAlive() {
    return this;
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }
}

export function connected() {
  const [one, other] = [new End(), new End()];
  one.other = other;
  other.other = one;
  return [one, other];
}
