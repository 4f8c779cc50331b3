/** Tests the console of the chart: which pods serve it, and at which address. */
import { describe, expect, it } from 'vitest';
import { complete, render, renderText } from './helm.ts';
import { servingPod, settingOf } from './serving-pods.ts';

const enabled = { ...complete, console: { enabled: true } };
const url = 'https://gateway.example.com';

describe('the console of the chart', () => {
  it('is off by default', async () => {
    expect(await renderText(complete)).not.toContain('GATEWRIGHT_CONSOLE_ENABLED');
  });

  it.each(['components', 'all-in-one'])(
    'is served by the server alone with mode %s',
    async (mode) => {
      const objects = await render({ ...enabled, mode });
      expect(settingOf(servingPod(objects, 'server')!, 'GATEWRIGHT_CONSOLE_ENABLED')).toBe('ON');
      for (const component of ['gateway', 'mcp']) {
        const pod = servingPod(objects, component);
        expect(pod && settingOf(pod, 'GATEWRIGHT_CONSOLE_ENABLED')).toBeUndefined();
      }
    },
  );

  it('is reached at the https address of the API, at the one of the settings, else on loopback', async () => {
    const addressFor = async (more: object) => {
      const pod = servingPod(await render({ ...enabled, ...more }), 'server')!;
      const env = pod.containers[0]!.env.filter(({ name }) => name === 'GATEWRIGHT_PUBLIC_URL');
      return env.map(({ value }) => value);
    };
    const settings = { GATEWRIGHT_PUBLIC_URL: 'https://console.example.com' };
    expect(await addressFor({})).toEqual([]);
    expect(await addressFor({ server: { url } })).toEqual([url]);
    expect(await addressFor({ server: { url: 'http://10.0.0.1:8080' } })).toEqual([]);
    expect(await addressFor({ server: { url }, settings })).toEqual([
      settings.GATEWRIGHT_PUBLIC_URL,
    ]);
    const off = { console: { enabled: false }, server: { url } };
    expect(await addressFor(off)).toEqual([]);
  });

  it('is switched by its own value only', async () => {
    const settings = { GATEWRIGHT_CONSOLE_ENABLED: true };
    await expect(renderText({ ...complete, settings })).rejects.toThrow(
      'GATEWRIGHT_CONSOLE_ENABLED',
    );
  });
});
