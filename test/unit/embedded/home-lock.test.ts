/** Verifies that a home which others may write is refused. */
import { chmodSync, chownSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeHome } from '../../../src/embedded/home-lock.ts';
import { Failure } from '../../../src/failure.ts';

const isRoot = process.getuid!() === 0;
/** An id that is neither root's nor this user's. */
const otherId = 54_321;

function faultOf(mode: number, owner?: { readonly uid: number; readonly gid: number }): string {
  using home = mkdtempDisposableSync(join(tmpdir(), 'gatewright-home-'));
  chmodSync(home.path, mode);
  if (owner !== undefined) chownSync(home.path, owner.uid, owner.gid);
  try {
    makeHome(home.path);
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    return (error as Failure).message.replaceAll(home.path, 'HOME');
  }
}

describe('a home', () => {
  it.each([0o700, 0o750, 0o755])('is accepted with mode %i', (mode) => {
    expect(faultOf(mode)).toBe('');
  });

  it.each([0o777, 0o1777, 0o702, 0o703])('is refused with mode %i', (mode) => {
    expect(faultOf(mode)).toContain('HOME cannot be the home, because every user may write there');
    expect(faultOf(mode)).toContain('chmod go-w HOME');
  });

  it.runIf(isRoot)('is refused when its group or another owner may write there', () => {
    expect(faultOf(0o770, { uid: 0, gid: otherId })).toContain('because its group may write there');
    expect(faultOf(0o700, { uid: otherId, gid: otherId })).toContain('another user, its owner,');
  });

  it.runIf(isRoot)(
    'is accepted when only the group of root may write there, as in an image',
    () => {
      expect(faultOf(0o770, { uid: otherId, gid: 0 })).toBe('');
    },
  );
});
