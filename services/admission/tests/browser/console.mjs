// One scene of the operator console in Chromium: node console.mjs NAME [THEME]. What fails throws.
import { play } from './chromium.mjs';
import { conditions } from './console/conditions.mjs';
import { levers } from './console/levers.mjs';
import { pictures } from './console/pictures.mjs';

await play({ ...levers, ...conditions, ...pictures });
