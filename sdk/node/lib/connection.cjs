"use strict";
// Both ends of a connection that leaves no process: what one writes, the other reads.
const { Duplex } = require("node:stream");

class ConnectionEnd extends Duplex {
  constructor({ address, isSecure }) {
    super();
    this.remoteAddress = address;
    this.remoteFamily = address.includes(":") ? "IPv6" : "IPv4";
    this.encrypted = isSecure;
    this.peer = undefined;
    this.goOn = undefined;
  }

  _read() {
    const goOn = this.goOn;
    this.goOn = undefined;
    goOn?.();
  }

  // Done when the peer has read it: who writes faster than is read has to wait.
  _write(chunk, _encoding, done) {
    if (this.peer.destroyed || chunk.length === 0) return void process.nextTick(done);
    this.peer.goOn = done;
    this.peer.push(chunk);
  }

  _final(done) {
    if (!this.peer.destroyed) this.peer.push(null);
    done();
  }

  // An end that goes before it has said all takes the other one along.
  _destroy(error, done) {
    if (!this.writableFinished) process.nextTick(() => this.peer.destroy());
    done(error);
  }

  // What sockets have besides; nothing ever waits for a network here.
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

function connection(of) {
  const [client, server] = [new ConnectionEnd(of), new ConnectionEnd(of)];
  client.peer = server;
  server.peer = client;
  return { client, server };
}

module.exports = { connection };
