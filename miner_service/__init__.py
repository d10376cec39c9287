"""The miner's side: releases, alignment, jobs and models over HTTP."""
