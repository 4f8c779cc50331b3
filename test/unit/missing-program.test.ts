/** Checks that tests of SSH and signatures are skipped with the reason where their programs are missing. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { missingProgram, titleWithReason } from '../support/run/missing-program.ts';

it('names the missing program and its package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-path-'));
  try {
    symlinkSync(process.execPath, join(folder, 'gpg'));
    const env = { PATH: folder };
    expect(missingProgram(['gpg'], env)).toBeNull();
    const reason = missingProgram(['gpg', 'ssh-keygen'], env);
    expect(reason).toBe('ssh-keygen is not installed. On Debian: apt install openssh-client');
    expect(titleWithReason('Git over ssh', reason)).toBe(`Git over ssh (${reason})`);
    expect(titleWithReason('Git over ssh', null)).toBe('Git over ssh');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
