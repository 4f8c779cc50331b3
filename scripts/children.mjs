/** Starts child processes for the scripts and forwards signals to them. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Old versions of Node have no import.meta.dirname; fileURLToPath also decodes escaped spaces.
export const root = resolve(fileURLToPath(import.meta.url), '../..');
export const binaries = resolve(root, 'node_modules/.bin');

const children = new Set();
let interrupted = false;

/** Whether a signal has asked this process to end. */
export function isInterrupted() {
  return interrupted;
}

/** Forwards signals to all children; nothing is started afterwards. */
export function forwardSignals() {
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
    process.on(name, () => {
      interrupted = true;
      for (const child of children) child.kill(name);
    });
  }
}

/** Asks all children to stop in order; nothing is started afterwards. */
export function interrupt() {
  interrupted = true;
  for (const child of children) {
    if (child.connected) child.disconnect();
    else child.kill('SIGTERM');
  }
}

/** Resolves with the exit code, or with 128 + signal number as shells do; `onStart` gets the process. */
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
