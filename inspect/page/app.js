// The page of package inspect: the live figures, and nothing else.

import { Live } from "./live.js";

new Live({ snapshots: "events" }).start();
