// Package failover breaks real masters, their networks and their clients under the lock, and
// looks at what must hold. It has tests only.
//
// Each test says in its name what is lost and what must hold. The faults come from
// internal/redistest, internal/redistest/containers and internal/proxy, which fail the test
// if a fault did not happen. The tests of kill_test.go run on both kinds of masters,
// processes of this machine and containers; the others on processes. TestChaos does all of
// it at random: see docs/chaos.md.
//
// The scenarios, what is promised in them, and where that is tested. A test without a file
// is here; "A" holds the lock on masters 1 to 3 only, and "B" can have 3 to 5.
//
//	contention, without a fault           one at a time, everybody gets in       redlock: TestMutualExclusion; TestChaos
//	two clients with half of the masters  it is settled                          TestTie_IsSettled
//
//	holder killed                         the next gets in when its keys end     TestHolderIsKilled_…
//	holder stands still past its lease    it is told; the resource refuses it    TestHolderStandsStillPastItsLease_…
//	holder overruns, then releases        it is told; nobody's key is taken      TestHolderOverruns_…
//	holder's machine is suspended         it has lost the lock when it wakes     redlock: TestSuspendedMachineHasLostItsLease
//	holder's clock stands still           it is told, and accuses no master      TestAClientWhoseClockStoodStillAccusesNobody
//	its write is late in the network      the resource refuses it                TestWriteIsInTheNetworkForLongerThanTheLease_…
//	a client gives up at any moment       nothing is left behind                 redlock: TestCancelledLockLeavesNoKey, …
//
//	minority killed, or hung              lease and extension survive            TestMinorityKilledMidHold_…, TestMinorityHungMidHold_…
//	majority killed                       nobody enters; the lease ends in time  TestMajorityKilledMidHold_…
//	majority back with its memory         nobody enters before the wait is over  TestMajorityKilledAndRestartedWithItsMemory_…
//	majority back without                 nobody enters before an operator       TestMajorityKilledAndRestartedEmpty_…
//	all restart empty, one by one         a lease that is kept alive survives    TestLeaseOutlivesARollingRestart
//
//	master 3 restarts empty               B is kept out                          TestNobodyEntersWhenAMasterForgets
//	… or from a file cut before A's key   likewise                               likewise
//	… is flushed                          likewise                               likewise
//	… is failed over to a stale replica   likewise                               likewise, TestFailoverWhileTheHolderReachesTheOldMaster
//	… is demoted and promoted again       likewise                               likewise
//	… steps its clock ahead               likewise                               likewise
//	… evicts A's key                      likewise                               likewise
//	… steps its clock back                no name is locked for long             TestAClockThatWasSetBackLocksNothingForLong
//	… is at two of the addresses          one vote                               TestNobodyEntersThroughTwoAddressesOfOneMaster
//	… 's address leads to another         that keeps its seat                    TestAnAddressThatLeadsToAnotherMaster_…
//	… is a replica, or in cluster mode    refused                                redlock: TestUnfitMasters
//	… is replaced, and comes back         it has no vote                         TestReplacedMasterComesBack
//	clients have different lists          refused                                TestClientsMustAgree
//
//	holder cut from a minority            it keeps the lock                      TestHolderCutFromAMinority_…, TestPartition
//	holder cut from a majority            it loses the lock in time              TestHolderCutFromAMajority_…, TestPartition
//	votes that come after the ttl         no lock, no key                        TestVotesThatComeTooLate_…
//	SETs that come after the give-up      lock nothing                           TestLateSETs_…
//	extension after the release           brings nothing back                    TestLateExtension_…
//	release of an earlier attempt         takes nothing                          TestLateReleaseOfAnEarlierAttempt
package failover
