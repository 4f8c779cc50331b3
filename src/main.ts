#!/usr/bin/env node
/** Knows the process: its arguments, signals, streams and exit code; everything else is the commands'. */
// As a whole, because an old Node, which is told so below, lacks the name used of it.
import * as nodeModule from 'node:module';
import { exitCodes } from './commands/shared/exit-codes.ts';
import { packageVersion } from './package-root.ts';

/** Work that will not end after its command has ended is cut off after this long. */
const graceMs = 10_000;
/** A terminal's Ctrl-C arrives more than once: from the terminal, and again from npm, which passes it on. */
const sameSignalMs = 1_000;
const nodeMajorMin = 24;
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

const cliArguments = process.argv.slice(2);
if (cliArguments[0] === '--version' || cliArguments[0] === '-v') {
  process.stdout.write(`gatewright ${packageVersion()}\n`);
} else if (Number.parseInt(process.versions.node, 10) < nodeMajorMin) {
  process.stderr.write(`gatewright needs Node ${nodeMajorMin}; this is ${process.version}\n`);
  process.exitCode = exitCodes.invalidInput;
} else {
  await run();
}

/** Standard error, whose reader may have gone as well. */
function openStderr(): NodeJS.WriteStream {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {});
  return process.stderr;
}

/** One started on a channel (scripts/run.mjs) stops in order when its holder has ended, by SIGKILL too. */
function stopWithHolder(stop: () => void): void {
  if (process.connected === false) stop();
  process.once('disconnect', stop);
  // Holding on to us is no work.
  process.channel?.unref();
}

async function run(): Promise<void> {
  // Says where compiled code is kept: among the temporary files, for this user and version of Node.
  nodeModule.enableCompileCache();
  const controller = new AbortController();
  let interruptedBy: keyof typeof signalNumbers | null = null;
  let interruptedAt = 0;
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (interruptedBy === null) interruptedAt = now;
      // A second signal means now: the children end with this process.
      else if (now - interruptedAt > sameSignalMs) process.exit(128 + signalNumbers[name]);
      interruptedBy = name;
      controller.abort();
    });
  }
  stopWithHolder(() => controller.abort());
  // Whoever read the output has gone (`| head`): there is nobody left to work for.
  process.stdout.on('error', () => controller.abort());
  const { loadProgram } = await import('./program.ts');
  const { commandLine, keepCompiled } = await loadProgram(cliArguments[0] ?? '');
  const ending = await commandLine.runCommandLine(cliArguments, {
    // Opened by whoever uses them, because opening takes time.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    get stderr() {
      return openStderr();
    },
    signal: controller.signal,
    cwd: process.cwd(),
    onStarted: keepCompiled,
  });
  process.exitCode =
    ending === 'interrupted' ? 128 + signalNumbers[interruptedBy ?? 'SIGTERM'] : exitCodes[ending];
  setTimeout(() => process.exit(), graceMs).unref();
}
