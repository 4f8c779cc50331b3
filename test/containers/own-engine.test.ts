/** Tests that the suites' own Docker engine serves, and leaves nothing behind. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/server/eventually.ts';
import { answers, startOwnEngine, whyNoOwnEngine } from './own-engine.ts';

const why = whyNoOwnEngine();

describe.skipIf(why !== null)(`an engine of one’s own${why === null ? '' : ` (${why})`}`, () => {
  let images: string;

  beforeEach(() => {
    // On a disk, because image layers cannot be on a memory file system.
    images = mkdtempSync(
      join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'gatewright-images-'),
    );
  });
  afterEach(() => rmSync(images, { recursive: true, force: true }));

  /** Processes whose command line contains the folder. */
  const running = (): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(images);
      } catch {
        return false;
      }
    });

  const hasLink = (name: string): boolean => spawnSync('ip', ['link', 'show', name]).status === 0;

  it('serves, has its images to itself, and leaves neither a process nor a bridge', async () => {
    const engine = await startOwnEngine(images);
    try {
      expect(await answers(engine.address)).toBe(true);
      expect(running()).not.toEqual([]);
      expect(hasLink(engine.bridge)).toBe(true);
      await expect(startOwnEngine(images)).rejects.toThrow(/dockerd does not serve .*lock/);
    } finally {
      await engine[Symbol.asyncDispose]();
    }
    expect(await answers(engine.address)).toBe(false);
    await eventually(() => expect(running()).toEqual([]));
    expect(hasLink(engine.bridge)).toBe(false);
  });
});
