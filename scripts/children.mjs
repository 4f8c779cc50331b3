/** Knows how the scripts run other programs, with signals handed on to them. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// An old Node has no import.meta.dirname, and the path of a URL is not that of a file: it spells spaces.
export const root = resolve(fileURLToPath(import.meta.url), '../..');
export const binaries = resolve(root, 'node_modules/.bin');

const children = new Set();
let interrupted = false;

/** Whether somebody wants all of it to end. */
export function isInterrupted() {
  return interrupted;
}

/** From now on a signal to this process goes to what runs, and nothing else is started. */
export function handOnSignals() {
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
    process.on(name, () => {
      interrupted = true;
      for (const child of children) child.kill(name);
    });
  }
}

/** Lets what runs stop in order; nothing else is started. */
export function interrupt() {
  interrupted = true;
  for (const child of children) {
    if (child.connected) child.disconnect();
    else child.kill('SIGTERM');
  }
}

/**
 * Resolves with the exit code, or with 128 and the signal's number as shells have it. `onStart` gets
 * the process.
 */
export function run(program, programArguments, { stdio = 'inherit', onStart = () => {} } = {}) {
  return new Promise((done) => {
    const child = spawn(program, programArguments, {
      cwd: root,
      stdio,
      env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` },
    });
    const ended = (code) => {
      children.delete(child);
      done(code);
    };
    children.add(child);
    onStart(child);
    child.once('error', (error) => {
      say(`${program}: ${error.message}`);
      ended(1);
    });
    child.once('close', (code, signal) => ended(code ?? 128 + constants.signals[signal]));
  });
}

export function say(line) {
  process.stderr.write(`${line}\n`);
}
