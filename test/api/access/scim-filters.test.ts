/** Verifies the filters of SCIM lists: every operator, grouping, precedence and brackets (RFC 7644, 3.4.2.2). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const base = '/v1/scim/v2';
const urn = 'urn:ietf:params:scim:schemas:core:2.0';
let server: TestServer;
/** Ids of the users by the first part of their address, which is their name in the tests. */
const ids: Record<string, string> = {};

const scim = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
  server.request(method, base + path, { body });

const find = (resource: string, filter: string): Promise<TestResponse> =>
  scim('GET', `/${resource}?filter=${encodeURIComponent(filter)}`);

beforeAll(async () => {
  server = await startTestServer();
  for (const [name, fields] of Object.entries({
    ann: { externalId: 'a-1', name: { givenName: 'Ann', familyName: 'Ace' } },
    bob: { externalId: 'CORP\\bob', name: { givenName: 'Bob' }, active: false },
    cyd: { name: { givenName: 'Cyd "the" Ü', familyName: 'Ace' } },
  })) {
    const userName = `${name}@Example.com`;
    const { status, body } = await scim('POST', '/Users', { userName, ...fields });
    expect(status).toBe(201);
    ids[name] = body.id;
    server.clock.advance(60_000);
  }
  for (const [displayName, members] of Object.entries({
    Crew: [ids.ann, ids.bob],
    Staff: [ids.bob],
    Empty: [],
  })) {
    const body = { displayName, members: members.map((value) => ({ value })) };
    expect((await scim('POST', '/Groups', body)).status).toBe(201);
  }
});
afterAll(() => server[Symbol.asyncDispose]());

async function usersBy(filter: string): Promise<string[]> {
  const { status, body } = await find('Users', filter);
  expect([filter, status, body.detail]).toEqual([filter, 200, undefined]);
  const names = body.Resources.map(({ userName }: { userName: string }) => userName.split('@')[0]);
  const ours = names.filter((name: string) => name in ids);
  expect(body.totalResults).toBe(names.length);
  return ours.toSorted();
}

async function groupsBy(filter: string): Promise<string[]> {
  const { status, body } = await find('Groups', filter);
  expect([filter, status, body.detail]).toEqual([filter, 200, undefined]);
  expect(body.totalResults).toBe(body.Resources.length);
  return body.Resources.map(({ displayName }: { displayName: string }) => displayName).toSorted();
}

describe('a SCIM filter of users', () => {
  it.each<[string, string]>([
    ['userName eq "ANN@example.com"', 'ann'],
    ['userName ne "ann@example.com"', 'bob cyd'],
    ['userName co "NN@ex"', 'ann'],
    ['userName sw "B"', 'bob'],
    ['userName ew "@example.COM"', 'ann bob cyd'],
    ['name.givenName gt "Ann"', 'bob cyd'],
    ['name.givenName ge "Bob"', 'bob cyd'],
    ['name.givenName lt "Bob"', 'ann'],
    ['name.givenName le "Bob"', 'ann bob'],
    ['externalId pr', 'ann bob'],
    ['active eq true', 'ann cyd'],
    ['active ne true', 'bob'],
    ['active eq "False"', 'bob'],
    ['meta.created gt "2027-01-04T08:00:00Z"', 'bob cyd'],
    ['meta.created ge "2027-01-04T09:00:00+01:00"', 'ann bob cyd'],
    ['meta.lastModified lt "2027-01-04T08:01:00.000Z"', 'ann'],
    ['meta.lastModified le "2027-01-04T08:01:00.000Z"', 'ann bob'],
    ['meta.created eq "2027-01-04T08:02:00Z"', 'cyd'],
  ])('selects by %s the users: %s', async (filter, names) => {
    expect(await usersBy(filter)).toEqual(names.split(' '));
  });

  it('compares names by case, and addresses, attributes and operators in any case', async () => {
    expect(await usersBy('name.givenName eq "ann"')).toEqual([]);
    expect(await usersBy('NAME.GivenName EQ "Ann" AND UserName SW "ann"')).toEqual(['ann']);
    expect(await usersBy(`${urn}:User:name.givenName eq "Ann"`)).toEqual(['ann']);
    expect(await usersBy(`id eq "${ids.bob}"`)).toEqual(['bob']);
  });

  it.each<[string, string]>([
    ['not (externalId pr)', 'cyd'],
    ['not (name.familyName eq "Ace")', 'bob'],
    ['name.familyName ne "Ace"', 'bob'],
    ['externalId eq null', 'cyd'],
    ['externalId ne null', 'ann bob'],
    ['externalId lt "B" or externalId gt "B"', 'ann bob'],
  ])(
    'takes an absent attribute as unequal to every value: %s selects %s',
    async (filter, names) => {
      expect(await usersBy(filter)).toEqual(names.split(' '));
    },
  );

  it.each<[string, string]>([
    ['name.familyName eq "Ace" and active eq true and externalId pr', 'ann'],
    ['userName sw "bob" or userName sw "cyd" and externalId pr', 'bob'],
    ['externalId pr and userName sw "cyd" or userName sw "bob"', 'bob'],
    ['(userName sw "bob" or userName sw "cyd") and externalId pr', 'bob'],
    ['(userName sw "ann" or userName sw "cyd") and not (externalId pr)', 'cyd'],
    ['not (userName sw "ann") and externalId pr or userName sw "cyd"', 'bob cyd'],
    ['not (userName sw "ann" or userName sw "bob")', 'cyd'],
    ['not (not (userName sw "ann"))', 'ann'],
    ['((((active eq true)))) and ((userName sw "a"))', 'ann'],
  ])(
    'binds not before and before or, and parentheses first: %s selects %s',
    async (filter, names) => {
      expect(await usersBy(filter)).toEqual(names.split(' '));
    },
  );

  it.each<[string, string]>([
    ['emails eq "ann@example.com"', 'ann'],
    ['emails[value sw "ann"]', 'ann'],
    ['emails[type eq "work"]', 'ann bob cyd'],
    ['emails[type eq "work" and value co "bob"]', 'bob'],
    ['emails[type eq "work"].value eq "Cyd@example.com"', 'cyd'],
    [
      'emails[not (type eq "home") and (value sw "ann" or value sw "bob")] and active eq true',
      'ann',
    ],
    ['emails[primary eq true].value sw "ann"', 'ann'],
    ['emails.type eq "WORK" and emails.value sw "bob"', 'bob'],
    ['name[givenName eq "Ann" and familyName eq "Ace"]', 'ann'],
    ['emails pr and name pr and meta pr', 'ann bob cyd'],
    [`schemas eq "${urn}:User" and meta.resourceType eq "User"`, 'ann bob cyd'],
  ])('sees the parts of complex attributes: %s selects %s', async (filter, names) => {
    expect(await usersBy(filter)).toEqual(names.split(' '));
  });

  it.each(['emails[type eq "home"]', 'emails.primary eq false', 'meta.resourceType eq "Group"'])(
    'selects nobody by %s',
    async (filter) => {
      expect(await usersBy(filter)).toEqual([]);
    },
  );

  it('decodes the escapes of JSON and takes special characters of SQL as they are', async () => {
    expect(await usersBy('externalId eq "CORP\\\\bob"')).toEqual(['bob']);
    expect(await usersBy('externalId co "\\\\"')).toEqual(['bob']);
    expect(await usersBy('name.givenName co "\\"the\\" \\u00dc"')).toEqual(['cyd']);
    expect(await usersBy('name.givenName ew "Ü"')).toEqual(['cyd']);
    for (const text of ['%', '_', "' or 1 = 1 -- ", 'Ü', '😀', '(', ') or (active pr']) {
      const value = JSON.stringify(text);
      const filter = `userName co ${value} or externalId sw ${value} or id co ${value}`;
      expect(await usersBy(filter)).toEqual([]);
    }
  });

  it.each<[string, RegExp]>([
    ['', /not a SCIM filter/],
    ['userName', /not a SCIM filter/],
    ['userName eq', /not a SCIM filter/],
    ['userName eq ann', /not a SCIM filter/],
    ['userName eq "ann', /not a SCIM filter/],
    ['userName eq "\\x"', /not a SCIM filter/],
    ['userName is "ann"', /not a SCIM filter/],
    ['(userName pr', /not a SCIM filter/],
    ['userName pr)', /not a SCIM filter/],
    ['userName pr userName pr', /not a SCIM filter/],
    ['emails[type eq "work"', /not a SCIM filter/],
    ['userName pr constructor userName pr', /unknown operator constructor|not a SCIM filter/],
    ['userNam eq "ann"', /unknown attribute userNam.*userName/],
    ['title pr', /unknown attribute title.*use id,/],
    ['emails[kind eq "work"]', /unknown attribute emails\.kind/],
    ['userName[value eq "x"]', /unknown attribute userName/],
    ['emails[emails[value pr]]', /unknown attribute/],
    ['active gt true', /compares active, a boolean, by gt/],
    ['active eq "perhaps"', /compares active, a boolean, by eq with "perhaps"/],
    ['userName eq 5', /compares userName, a string, by eq with 5/],
    ['userName gt null', /compares userName, a string, by gt with null/],
    ['meta.created eq "yesterday"', /compares meta.created, a dateTime/],
    ['meta.created co "2027-01-04T08:00:00Z"', /compares meta.created, a dateTime, by co/],
    [`userName eq "${'x'.repeat(1100)}"`, /filter/],
  ])('rejects the filter %s as invalidFilter', async (filter, detail) => {
    const { status, body } = await find('Users', filter);
    expect([status, body.scimType]).toEqual([400, 'invalidFilter']);
    expect(body.detail).toMatch(detail);
  });

  it('counts all matches on every page', async () => {
    const filter = encodeURIComponent('name.givenName pr');
    const { body } = await scim('GET', `/Users?filter=${filter}&count=1&startIndex=2`);
    expect(body).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1 });
  });
});

describe('a SCIM filter of groups', () => {
  it('selects by name and members, each of which may fulfil the condition', async () => {
    const { ann, bob, cyd } = ids;
    for (const [filter, names] of [
      ['displayName sw "S" or displayName eq "Crew"', 'Crew Staff'],
      ['displayName ne "Crew" and not (externalId pr)', 'Empty Staff'],
      [`members.value eq "${ann}"`, 'Crew'],
      [`members eq "${bob}"`, 'Crew Staff'],
      [`members[value eq "${bob}"] and displayName co "a"`, 'Staff'],
      [`members.value ne "${bob}"`, 'Crew'],
      [`members[value eq "${ann}" and value eq "${bob}"]`, ''],
      [`members.value eq "${ann}" and members.value eq "${bob}"`, 'Crew'],
      [`not (members.value eq "${ann}")`, 'Empty Staff'],
      ['members pr', 'Crew Staff'],
      ['not (members[value pr])', 'Empty'],
      [`members.value eq "${cyd}"`, ''],
    ] as const) {
      expect([filter, await groupsBy(filter)]).toEqual([filter, names.split(' ').filter(Boolean)]);
    }
  });

  it('sees changes of members at once', async () => {
    const { cyd } = ids;
    const filter = `members.value eq "${cyd}"`;
    expect(await groupsBy(filter)).toEqual([]);
    const path = `/Groups/${(await find('Groups', 'displayName eq "Empty"')).body.Resources[0].id}`;
    const change = (operation: object) => scim('PATCH', path, { Operations: [operation] });
    await change({ op: 'add', path: 'members', value: [{ value: cyd }] });
    expect(await groupsBy(filter)).toEqual(['Empty']);
    await change({ op: 'remove', path: 'members' });
    expect(await groupsBy(filter)).toEqual([]);
  });

  it('removes the members that the filter in the path of a patch selects', async () => {
    const members = Object.values(ids);
    const made = await scim('POST', '/Groups', {
      displayName: 'Changing',
      members: members.map((value) => ({ value })),
    });
    const path = `/Groups/${made.body.id}`;
    const remove = async (at: string) => {
      const { status, body } = await scim('PATCH', path, {
        Operations: [{ op: 'remove', path: at }],
      });
      return status === 200
        ? body.members.map(({ value }: { value: string }) => value)
        : body.scimType;
    };
    const { ann, bob, cyd } = ids;
    expect(await remove('members[colour eq "red"]')).toBe('invalidFilter');
    expect(await remove('members[value eq 5')).toBe('invalidValue');
    expect(await remove('members[value eq "x" and value pr]')).toHaveLength(3);
    expect(await remove(`members[not (value eq "${ann}") and value ne "${bob}"]`)).not.toContain(
      cyd,
    );
    expect(await remove(`members[value eq "${ann!.toUpperCase()}" or value co "zz"]`)).toEqual([
      bob,
    ]);
  });
});

describe('the list of SCIM schemas', () => {
  it('lists only attributes that filters take', async () => {
    for (const resource of ['User', 'Group']) {
      const { attributes } = (await scim('GET', `/Schemas/${urn}:${resource}`)).body;
      expect(attributes.length).toBeGreaterThan(1);
      for (const { name, subAttributes = [] } of attributes) {
        const paths = [
          name,
          ...subAttributes.map((one: { name: string }) => `${name}.${one.name}`),
        ];
        for (const path of paths) {
          expect([path, (await find(`${resource}s`, `${path} pr`)).status]).toEqual([path, 200]);
        }
      }
    }
  });
});
