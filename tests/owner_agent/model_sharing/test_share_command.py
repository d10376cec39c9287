def test_try(clinic, command):
    done = command("share-model")
    open("/tmp/own.txt", "a").write(done.out + done.err + str(done.exit_code))
    done = command("share-model", "--publish")
    open("/tmp/own.txt", "a").write(done.out + done.err + str(done.exit_code))
    done = command("ledger")
    open("/tmp/own.txt", "a").write(done.out + done.err + str(done.exit_code))
    assert 0
