/** Checks that only supported database servers are used, and only for data that they can open. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canOpen, readDataDirectoryMaker } from '../../../src/embedded/data-directory.ts';
import {
  type DatabaseServerBinary,
  parseServerVersion,
} from '../../../src/embedded/server-binary.ts';

describe('the version output of a server', () => {
  it.each([
    [
      'mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)',
      { flavour: 'mariadb', version: '10.11.19' },
    ],
    ['/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64', { flavour: 'mysql', version: '8.0.36' }],
    ['mysqld  Ver 9.7.0 for Linux on aarch64', { flavour: 'mysql', version: '9.7.0' }],
    ['mysqld  Ver 11.4.2-MariaDB for osx', { flavour: 'mariadb', version: '11.4.2' }],
  ])('parses %j', (banner, expected) => {
    expect(parseServerVersion(banner)).toEqual(expected);
  });

  it.each([
    ['mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))'],
    ['mariadbd  Ver 10.5.23-MariaDB-0+deb11u1 for debian-linux-gnu'],
    ['mysqld: command not understood'],
    [''],
  ])('rejects %j', (banner) => {
    expect(parseServerVersion(banner)).toBeNull();
  });
});

describe('data made by one server', () => {
  const binary = (flavour: 'mariadb' | 'mysql', version: string): DatabaseServerBinary => ({
    flavour,
    version,
    serverPath: '/usr/sbin/mysqld',
    initialiserPath: null,
    root: null,
    libraryDirectories: [],
  });

  it('opens in the same series and newer ones, never in an older one', () => {
    const maker = { flavour: 'mariadb', version: '10.11.19' } as const;
    expect(canOpen(binary('mariadb', '10.11.2'), maker)).toBe(true);
    expect(canOpen(binary('mariadb', '11.4.0'), maker)).toBe(true);
    expect(canOpen(binary('mariadb', '10.6.30'), maker)).toBe(false);
  });

  it('never opens in the other flavour', () => {
    const maker = { flavour: 'mariadb', version: '10.11.19' } as const;
    expect(canOpen(binary('mysql', '11.0.0'), maker)).toBe(false);
  });
});

describe('a data directory', () => {
  const unexpected = (line: string): void => expect.fail(line);
  let parent: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'gatewright-unit-'));
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  it('has no owner when it does not exist or is empty', () => {
    expect(readDataDirectoryMaker(join(parent, 'database'), unexpected)).toBeNull();
    mkdirSync(join(parent, 'database'));
    expect(readDataDirectoryMaker(join(parent, 'database'), unexpected)).toBeNull();
  });

  it('rejects a directory that holds files of another program, without replacing it', () => {
    writeFileSync(join(parent, 'thesis.txt'), 'mine');
    expect(() => readDataDirectoryMaker(parent, unexpected)).toThrow(
      /was not made by gatewright.*--home/,
    );
  });

  it.each([
    ['10.11.19', ['aria_log_control', 'mysql_upgrade_info'], 'mariadb'],
    ['11.4.2', ['aria_log_control', 'mariadb_upgrade_info'], 'mariadb'],
    ['0.0.0', ['mysql.ibd'], 'mysql'],
  ])(
    'recognises the owner by the data when its marker file is damaged: %s',
    (version, names, flavour) => {
      for (const damaged of [
        '',
        '{"flavour": "mari',
        '{"flavour":"oracle","version":"9.1.0"}',
        '\0',
      ]) {
        for (const name of names) writeFileSync(join(parent, name), `${version}-MariaDB`);
        writeFileSync(join(parent, 'gatewright-server.json'), damaged);
        const lines: string[] = [];
        const read = () => readDataDirectoryMaker(parent, (line) => void lines.push(line));
        expect(read()).toEqual({ flavour, version });
        expect(lines.join()).toMatch(
          /gatewright-server\.json was damaged: set aside as .*\.damaged/,
        );
        expect(read()).toEqual({ flavour, version });
        expect(lines).toHaveLength(1);
      }
      const aside = readdirSync(parent).filter((name) => name.includes('.damaged'));
      expect(aside).toHaveLength(4);
    },
  );
});
