import { z } from "zod";

import { EVENT_TYPES } from "./model.ts";

/** The name of an event. */
export const eventType = z.enum(EVENT_TYPES).meta({ id: "EventType" });
