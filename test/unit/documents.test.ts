/** Checks that documents match the code: links resolve, and tables and lists are complete. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/commands/all-commands.ts';
import { exitCodes } from '../../src/commands/shared/exit-codes.ts';
import { gatewayErrors } from '../../src/gateway/transfer/gateway-error.ts';
import { allJobs } from '../../src/jobs/all-jobs.ts';
import { allEndpoints, endpointNames, endpointOf } from '../../src/model/endpoints/catalogue.ts';
import { checkFaults } from '../../src/model/guardrails/guardrail-checks.ts';
import { piiCategories } from '../../src/model/guardrails/pii-categories.ts';
import { kindNames, kinds } from '../../src/model/kinds/kinds.ts';
import { PatternChecker } from '../../src/model/patterns/pattern-checker.ts';
import { allScopes } from '../../src/model/people/scopes.ts';
import { errorTable } from '../../src/model/wire/errors.ts';
import { databaseTlsModes } from '../../src/settings/variables/forms.ts';
import { describeSetting, settingNames } from '../../src/settings/variables/variables.ts';
import { readSettings } from '../../src/settings.ts';
import { endpointRow, queryRow } from '../support/interface/endpoint-row.ts';

const root = resolve(import.meta.dirname, '../..');

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Paths of all documents, relative to the repository. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'bench', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];

/** Lines outside of fenced code blocks. */
function proseOf(path: string): string[] {
  let isFenced = false;
  return read(path)
    .split('\n')
    .filter((line) => {
      const isFence = line.startsWith('```');
      if (isFence) isFenced = !isFenced;
      return !isFence && !isFenced;
    });
}

function headingsOf(path: string): string[] {
  return proseOf(path).flatMap((line) => /^#{1,6} (.+)$/.exec(line)?.[1] ?? []);
}

/** The anchor that GitHub generates for a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Lines between a heading and the next one of the same or a higher rank. */
function sectionOf(path: string, title: string): string[] {
  const lines = proseOf(path);
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === title && /^#/.test(line));
  if (start < 0) throw new Error(`${path} has no section ${title}`);
  const rank = /^#+/.exec(lines[start]!)![0].length;
  const end = lines.findIndex(
    (line, at) => at > start && (/^#+(?= )/.exec(line)?.[0].length ?? 9) <= rank,
  );
  return lines.slice(start + 1, end < 0 ? undefined : end);
}

/** Cells of every table row, without table headings. */
function rowsOf(lines: readonly string[]): string[][] {
  return lines
    .filter(
      (line, at) => line.startsWith('|') && !/^\|[-|\s]+$/.test(line) && !isTableHeading(lines, at),
    )
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function isTableHeading(lines: readonly string[], at: number): boolean {
  return /^\|[-|\s]+$/.test(lines[at + 1] ?? '');
}

/** Texts in backticks. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}

describe('links', () => {
  it.each(documents)('resolves every link in %s to a file and a heading', (path) => {
    const broken = proseOf(path)
      .flatMap((line) => [...line.matchAll(/\]\(([^)\s]+)\)/g)])
      .map(([, target]) => target!)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const found = file === '' ? path : relative(root, resolve(root, dirname(path), file));
        if (!existsSync(join(root, found))) return true;
        if (anchor === undefined) return false;
        return !headingsOf(found).map(anchorOf).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

describe('docs/README.md', () => {
  const listed = new Set(
    [...read('docs/README.md').matchAll(/^\| \[[^\]]+\]\(([^)#]+)\)/gm)].map(([, path]) => path!),
  );

  it('lists every page except the single runbooks', () => {
    const pages = documents
      .filter((path) => path.startsWith('docs/') && !path.startsWith('docs/runbooks/'))
      .map((path) => path.slice('docs/'.length))
      .filter((path) => path !== 'README.md');
    expect(pages.length).toBeGreaterThan(40);
    expect(pages.filter((path) => !listed.has(path))).toEqual([]);
  });
});

describe('the table of outages in docs/guides/operations.md', () => {
  const rows = rowsOf(sectionOf('docs/guides/operations.md', 'When something is down'));

  it.each(rows.map((row) => [row[0]!, row.at(-1)!]))('links a test for: %s', (_, link) => {
    const target = /\]\(([^)]+\.test\.ts)\)$/.exec(link)?.[1] ?? 'no link';
    expect(existsSync(join(root, 'docs/guides', target))).toBe(true);
  });
});

describe('settings', () => {
  /** Variables of other programs and of the tests. */
  const foreign = [
    'NO_COLOR',
    'TEST_DATABASE_URL',
    'NODE_EXTRA_CA_CERTS',
    'KUBEBUILDER_ASSETS',
    'GATEWRIGHT_TEST_CONFTEST',
    'GATEWRIGHT_TEST_KUBERNETES',
    'GATEWRIGHT_TEST_LONG',
    'GATEWRIGHT_TEST_PREVIOUS_RELEASE',
    'GATEWRIGHT_TEST_SEED',
    'GATEWRIGHT_TEST_UPDATE_LAYOUT',
    'GATEWRIGHT_TEST_VAULT',
    'GATEWRIGHT_TEST_VITESS',
    'COSIGN_PASSWORD',
    'GATEWRIGHT_RELEASE_FULCIO',
    'GATEWRIGHT_RELEASE_PASSWORD',
    'GATEWRIGHT_RELEASE_REKOR',
    'GATEWRIGHT_RELEASE_USER',
    'SIGSTORE_ID_TOKEN',
    'AIRS_API_KEY',
    'GUARDRAIL_INTERVENED',
    'LOCATION_ADDRESS',
    'ANTHROPIC_API_BASE',
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_BEDROCK_BASE_URL',
    'ANTHROPIC_VERTEX_BASE_URL',
    'ANTHROPIC_VERTEX_PROJECT_ID',
    'AWS_BEARER_TOKEN_BEDROCK',
    'CLAUDE_CODE_SKIP_BEDROCK_AUTH',
    'CLAUDE_CODE_SKIP_VERTEX_AUTH',
    'CLAUDE_CODE_USE_BEDROCK',
    'CLAUDE_CODE_USE_VERTEX',
    'ADMIN_URL',
    'GATEWAY_KEY',
    'GATEWAY_URL',
    'ORGANISATION_KEY',
    'GEMINI_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
    'OPENAI_API_BASE',
    'OPENAI_API_KEY',
  ];
  const known = new Set<string>([
    ...settingNames,
    ...settingNames.map((name) => `${name}_FILE`),
    ...foreign,
  ]);

  it.each(documents)('spells every setting in %s correctly', (path) => {
    const named = proseOf(path)
      .flatMap(namesIn)
      .flatMap((text) => /^([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=.*)?$/.exec(text)?.[1] ?? [])
      .filter((name) => !piiCategories.some((category) => category === name))
      .filter((name) => !databaseTlsModes.some((mode) => mode === name));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

/** Columns of each table, from the CREATE and ALTER statements of the migrations. */
function schemaOf(sql: string): Map<string, string[]> {
  const tables = new Map<string, string[]>();
  for (const [, table, body] of sql.matchAll(
    /CREATE TABLE IF NOT EXISTS (\w+) \(\n([\s\S]*?)\n\s*\) ENGINE/g,
  )) {
    const columns = body!.split('\n').flatMap((line) => /^\s+([a-z_0-9]+) /.exec(line)?.[1] ?? []);
    tables.set(table!, columns);
  }
  for (const [, table, column] of sql.matchAll(/ALTER TABLE (\w+)[^;]*?ADD COLUMN (\w+)/g)) {
    tables.get(table!)?.push(column!);
  }
  return tables;
}

describe('the database documents', () => {
  const migrations = readdirSync(join(root, 'migrations')).map((name) => `migrations/${name}`);
  const schema = schemaOf(
    [...migrations, 'src/store/migrations/schema-migrations.ts', 'src/store/migrations/leases.ts']
      .map(read)
      .join('\n'),
  );

  it('is compared with a schema that was parsed completely', () => {
    expect(schema.size).toBeGreaterThan(15);
    expect(schema.get('job_runs')).toContain('lease_until');
    expect(schema.get('leases')).toEqual(['name', 'owner', 'epoch', 'expires_at']);
  });

  it('explains every TLS mode', () => {
    const listed = rowsOf(sectionOf('docs/guides/database.md', 'TLS')).map(
      ([mode]) => namesIn(mode!)[0],
    );
    expect(listed).toEqual(databaseTlsModes);
  });

  it('explains every table, and none that does not exist', () => {
    const explained = headingsOf('docs/reference/schema.md').filter((title) =>
      /^[a-z_]+$/.test(title),
    );
    expect(explained.toSorted()).toEqual([...schema.keys()].toSorted());
  });

  it.each([...schema])(
    'explains every column of %s, and none that does not exist',
    (table, columns) => {
      const rows = rowsOf(sectionOf('docs/reference/schema.md', table));
      const explained = rows.flatMap(([names = '']) => namesIn(names));
      expect(explained.toSorted()).toEqual(columns.toSorted());
    },
  );
});

describe('the Admin API documents', () => {
  it('lists every kind of error with its status and code', () => {
    const listed = rowsOf(sectionOf('docs/reference/api.md', 'Errors')).map(
      ([kind, status, code]) => [namesIn(kind!)[0], Number(status), code],
    );
    const real = Object.entries(errorTable).map(([kind, { status, code }]) => [kind, status, code]);
    expect(listed).toEqual(real);
  });

  it('lists every scope', () => {
    const rows = rowsOf(sectionOf('docs/reference/access.md', 'Scopes'));
    const listed = rows.flatMap(([resources, actions]) =>
      namesIn(resources!).flatMap((name) =>
        actions!.split(', ').map((action) => `${name}.${action}`),
      ),
    );
    expect(listed.toSorted()).toEqual(allScopes.toSorted());
  });

  it('lists every switch that has an effect', () => {
    const listed = rowsOf(sectionOf('docs/reference/api.md', 'Features')).map(
      ([name]) => namesIn(name!)[0],
    );
    const real = settingNames.filter((name) => {
      const { group, effective } = describeSetting(name);
      return group === 'Features' && effective;
    });
    expect(listed.toSorted()).toEqual(real.toSorted());
  });

  it('states for each check whether it fits MCP tools', () => {
    const rows = rowsOf(sectionOf('docs/reference/resources.md', 'Checks')).filter(([id]) =>
      id!.startsWith('`'),
    );
    const wrong = rows.flatMap(([ids, fits]) =>
      namesIn(ids!).filter((id) => {
        const judges = { trusted: [], patterns: new PatternChecker() };
        const unfit = checkFaults([{ id }], 'mcp_tools', judges).length > 0;
        return unfit !== (fits === 'no');
      }),
    );
    expect(rows.length).toBeGreaterThan(20);
    expect(wrong).toEqual([]);
  });
});

describe('docs/reference/endpoints.md', () => {
  it('describes every endpoint of the catalogue', () => {
    const rows = rowsOf(sectionOf('docs/reference/endpoints.md', 'Columns'));
    expect(rows).toEqual(allEndpoints.map(endpointRow));
  });

  it('lists the query members of every endpoint', () => {
    const rows = rowsOf(sectionOf('docs/reference/endpoints.md', 'Queries'));
    expect(rows).toEqual(allEndpoints.map(queryRow).filter((row) => row !== null));
  });
});

describe('docs/reference/inference.md', () => {
  it('lists every error of the gateway with its status and type', () => {
    const listed = rowsOf(sectionOf('docs/reference/inference.md', 'Errors')).map(
      ([code, status, type]) => [namesIn(code!)[0], Number(status), namesIn(type!)[0]],
    );
    const real = Object.entries(gatewayErrors).map(([code, { status, type }]) => [
      code,
      status,
      type,
    ]);
    expect(listed).toEqual(real);
  });

  it('lists every endpoint with a name of its own', () => {
    const listed = rowsOf(sectionOf('docs/reference/inference.md', 'Address')).map(
      ([name, paths]) => [namesIn(name!)[0], namesIn(paths!).map(endpointOf)],
    );
    expect(listed).toEqual(endpointNames.map((name) => [name, name === 'other' ? [] : [name]]));
  });
});

describe('docs/reference/manifests.md', () => {
  it('lists the properties of every kind', () => {
    const listed = rowsOf(sectionOf('docs/reference/manifests.md', 'Kinds')).map(
      ([kind, workspaced, ...traits]) => [...namesIn(kind!), workspaced, ...traits.map(namesIn)],
    );
    const real = kindNames.map((name) => {
      const { workspaced, immutable, merged, sets, opaque } = kinds[name];
      return [name, workspaced, immutable, merged, sets, opaque];
    });
    expect(listed).toEqual(real);
  });
});

describe('docs/reference/cli.md', () => {
  it('lists every exit code', () => {
    const listed = rowsOf(sectionOf('docs/reference/cli.md', 'Exit codes')).map(([code]) =>
      Number(code),
    );
    expect(listed).toEqual(Object.values(exitCodes).toSorted());
  });

  it('lists every command', () => {
    const listed = rowsOf(sectionOf('docs/reference/cli.md', 'Commands')).flatMap(([command]) =>
      namesIn(command!).map((words) => words.split(' ')[0]!),
    );
    expect([...new Set(listed)].toSorted()).toEqual([...commands.keys()].toSorted());
  });
});

describe('docs/reference/jobs.md', () => {
  it('lists every job with its schedule', () => {
    const listed = rowsOf(sectionOf('docs/reference/jobs.md', 'List of jobs'))
      .filter(([job]) => job!.startsWith('`'))
      .map(([job, cron]) => [...namesIn(job!), ...namesIn(cron!)]);
    const unused = () => Promise.reject(new Error('unused'));
    const { features } = readSettings({}, { cwd: join(root, 'docs') });
    expect(listed).toEqual(
      allJobs(
        features,
        { logDays: 90, totalsDays: 365, responseDays: 30, threadDays: 60 },
        {
          sendMail: null,
          recipients: [],
          lists: {
            has: () => {
              throw new Error('unused');
            },
            read: () => {
              throw new Error('unused');
            },
            lines: () => {
              throw new Error('unused');
            },
            pages: () => {
              throw new Error('unused');
            },
          },
          blobs: { sweep: unused, write: unused, keep: unused },
        },
        { auditDays: null, auditKeyOf: () => Buffer.alloc(32) },
      ).map(({ name, cron }) => [name, cron]),
    );
  });
});

describe('docs/explanation/architecture.md', () => {
  const source = join(root, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const rows = rowsOf(sectionOf('docs/explanation/architecture.md', 'Rooms'));
  const floors = new Map(
    rows.flatMap(([floor, rooms]) => namesIn(rooms!).map((room) => [room, Number(floor)] as const)),
  );
  const roomOf = (file: string): string => file.split('/')[0]!.replace(/\.ts$/, '');

  it('maps every room and every room within, and none that does not exist', () => {
    const mapped = rows.flatMap(([, rooms, within]) => [
      ...namesIn(rooms!),
      ...namesIn(within!).map((inner) => `${namesIn(rooms!)[0]}/${inner}`),
    ]);
    const inner = files.map((file) => file.split('/')).filter((parts) => parts.length > 2);
    const real = [...files.map(roomOf), ...inner.map(([outer, room]) => `${outer}/${room}`)];
    expect(mapped.toSorted()).toEqual([...new Set(real)].toSorted());
  });

  it('puts each room above those it imports', () => {
    const upward = files.flatMap((file) => {
      const text = readFileSync(join(source, file), 'utf8');
      return [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)]
        .map(([, target]) => roomOf(relative(source, resolve(source, dirname(file), target!))))
        .filter((room) => room !== roomOf(file))
        .filter((room) => floors.get(room)! >= floors.get(roomOf(file))!)
        .map((room) => `${file} -> ${room}`);
    });
    expect(upward).toEqual([]);
  });

  it('names only places that exist', () => {
    const lines = rowsOf(sectionOf('docs/explanation/architecture.md', 'Where a line belongs'));
    const places = lines
      .flatMap(([, place]) => namesIn(place!))
      .filter((place) => place.includes('/'))
      .map((place) =>
        place.replace(/<.*$/, '').replace(/[^/]*$/, (file) => (/\.ts$/.test(file) ? file : '')),
      );
    const missing = places.filter(
      (place) => !existsSync(join(source, place)) && !existsSync(join(root, place)),
    );
    expect(places.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });
});
